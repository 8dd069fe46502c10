//! Comma-separated values, by RFC 4180.

/// A line of cells, with its end. A cell is quoted only if it must be.
pub fn line<S: AsRef<str>>(cells: impl IntoIterator<Item = S>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(cell.as_ref())).collect();
    cells.join(",") + "\n"
}

fn quoted(cell: &str) -> String {
    let is_plain = !cell.contains(['"', ',', '\n', '\r']);
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_only_if_it_must_be() {
        assert_eq!(line(["a", "b c", ""]), "a,b c,\n");
        assert_eq!(line(["a, \"b\"", "c\nd"]), "\"a, \"\"b\"\"\",\"c\nd\"\n");
    }
}
