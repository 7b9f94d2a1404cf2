package import Poller

/// The words for payers in one language.
///
/// *Shape* (`Locales/<language>.txt`): lines `key = words`, comments from `#`; the words are a
/// ``WordPattern``. A key is `<channel>.<subject>.<part>`: the channel is `page` or `mail`, the subject a
/// state with its reason (`failed.insufficient_funds`) or a step (`step.transfer`), the part `title` or
/// `text`. Labels, buttons and methods have keys of their own.
/// *What is found*: the narrowest subject that has words, and of that the channel's before the page's.
/// Each payment there can be has words in each language, which a test proves: nobody is ever shown a key,
/// an id or a status.
package struct PayerWords: Sendable {
    /// Who the words are for.
    package enum Channel: String, Sendable, CaseIterable {
        case page, mail
    }

    /// The words this program was built with, in every language.
    package static let standard: [PayerLanguage: PayerWords] = {
        var all: [PayerLanguage: PayerWords] = [:]
        for language in PayerLanguage.allCases {
            do throws(InvalidInput) {
                let text = String(decoding: source(of: language), as: UTF8.self)
                let patterns = try read(text, file: "\(language.rawValue).txt")
                all[language] = PayerWords(language: language, patterns: patterns)
            } catch {
                preconditionFailure("words this program was built with are broken: \(error)")
            }
        }
        return all
    }()

    package let language: PayerLanguage
    private var patterns: [String: WordPattern]

    /// The words in a language.
    package static func `in`(_ language: PayerLanguage) -> PayerWords {
        guard let words = standard[language] else {
            preconditionFailure("every language has words")
        }
        return words
    }

    /// These words, with an operator's own in place of some: a text of the same shape that names the
    /// keys it replaces.
    ///
    /// Errors: ``InvalidInput`` with the file and what is wrong in it: a line that is none, a key we do
    /// not have, a value that may not be known there.
    package func replacing(_ text: String) throws(InvalidInput) -> PayerWords {
        let file = "\(language.rawValue).txt"
        var words = self
        for (key, pattern) in try Self.read(text, file: file) {
            guard let ours = patterns[key] else {
                throw InvalidInput(field: file, message: "names \(key), for which we have no words")
            }
            guard pattern.required.isSubset(of: ours.required),
                pattern.values.isSubset(of: ours.values.union(Self.values))
            else {
                throw InvalidInput(
                    field: file,
                    message: "uses at \(key) a value that may not be known there: set it in [ ]"
                )
            }
            words.patterns[key] = pattern
        }
        return words
    }

    /// Values that may stand in brackets anywhere.
    static let values: Set<String> = [
        "amount", "received", "returned", "missing", "method", "shop", "about", "order",
    ]

    /// The words of a key; empty for one that there is not.
    package func callAsFunction(_ key: String, _ values: [String: String] = [:]) -> String {
        patterns[key]?.text(values) ?? ""
    }

    /// What is said of the first of these subjects that has words for it.
    func pattern(_ channel: Channel, _ subjects: [String], _ part: String) -> WordPattern? {
        subjects.lazy.compactMap { subject in
            patterns["\(channel.rawValue).\(subject).\(part)"]
                ?? patterns["page.\(subject).\(part)"]
        }.first
    }

    /// Every key with its words, for tests.
    var all: [String: WordPattern] { patterns }

    private static func read(
        _ text: String,
        file: String
    ) throws(InvalidInput) -> [String: WordPattern] {
        var patterns: [String: WordPattern] = [:]
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        where !line.isEmpty && !line.hasPrefix("#") {
            guard let equals = line.firstRange(of: " = "),
                let pattern = WordPattern(String(line[equals.upperBound...]))
            else {
                throw InvalidInput(
                    field: "\(file), line \(number + 1)",
                    message: "must be `key = words`, with each [ and { closed"
                )
            }
            let key = String(line[..<equals.lowerBound])
            guard patterns.updateValue(pattern, forKey: key) == nil else {
                throw InvalidInput(field: "\(file), line \(number + 1)", message: "repeats \(key)")
            }
        }
        return patterns
    }

    private static func source(of language: PayerLanguage) -> [UInt8] {
        switch language {
        case .en: PackageResources.en_txt
        case .de: PackageResources.de_txt
        case .fr: PackageResources.fr_txt
        case .nl: PackageResources.nl_txt
        case .es: PackageResources.es_txt
        case .it: PackageResources.it_txt
        case .pl: PackageResources.pl_txt
        case .pt: PackageResources.pt_txt
        case .zh: PackageResources.zh_txt
        }
    }
}
