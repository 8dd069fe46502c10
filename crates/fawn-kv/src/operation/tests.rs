//! Tables of operation, item and decision.
