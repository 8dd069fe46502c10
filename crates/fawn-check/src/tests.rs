//! The checker against cases whose verdict is known, and against a second one that tries every order.

mod brute;
mod cases;
mod random;
mod versions;
