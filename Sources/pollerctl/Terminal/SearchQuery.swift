/// Builds a query for the server from command-line arguments.
enum SearchQuery {
    /// Joins the arguments and restores the quotation marks that the shell removed.
    static func text(of words: [String]) -> String {
        words.map(quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        guard word.contains(where: \.isWhitespace), !word.contains("\"") else { return word }
        guard let at = word.firstIndex(where: { "=!<>".contains($0) }),
            !word[..<at].contains(where: \.isWhitespace)
        else { return "\"\(word)\"" }
        let value = word[at...].drop { "=!<>".contains($0) }
        return word[..<value.startIndex] + "\"\(value)\""
    }
}
