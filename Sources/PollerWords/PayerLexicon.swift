package import Poller

/// The words in all languages, ours or with an operator's in place of some.
package struct PayerLexicon: Sendable {
    /// The words this program was built with.
    package static let standard = PayerLexicon()

    private var words = PayerWords.standard

    private init() {}

    /// Words with an operator's own in place of some: files such as `de.txt` that name the keys they
    /// replace. Files of other names are passed over, so that a folder may hold more than words.
    ///
    /// Errors: ``InvalidInput`` with the file and what is wrong in it.
    package init(replacing files: [String: String]) throws(InvalidInput) {
        for (name, text) in files {
            guard name.hasSuffix(".txt"),
                let language = PayerLanguage(rawValue: String(name.dropLast(4)))
            else { continue }
            words[language] = try self[language].replacing(text)
        }
    }

    /// The words in a language.
    package subscript(_ language: PayerLanguage) -> PayerWords {
        words[language] ?? PayerWords.in(language)
    }
}
