package import PollerIdentity

/// The texts for payers in one language.
///
/// *Shape* (`Locales/<language>.txt`): lines `key = text`, and comments that start with `#`. The text is a
/// ``WordPattern``. A key is `<channel>.<subject>.<part>`: the channel is `page` or `mail`, the subject a state with an
/// optional reason (`failed.insufficient_funds`) or a step (`step.transfer`), the part `title` or `text`. Labels,
/// buttons and payment methods have separate keys.
/// *Lookup*: the most specific subject that has a text, for the channel if present, otherwise for the page. A test
/// checks that every possible payment has a text in every language, so payers never see a key, an ID or a status.
package struct PayerWords: Sendable {
    /// The medium that shows the texts.
    package enum Channel: String, Sendable, CaseIterable {
        case page, mail
    }

    /// The built-in texts of every language.
    package static let standard: [PayerLanguage: PayerWords] = {
        var all: [PayerLanguage: PayerWords] = [:]
        for language in PayerLanguage.allCases {
            do throws(InvalidInput) {
                let file = "\(language.rawValue).txt"
                guard let text = EmbeddedTexts.byFile[file] else {
                    preconditionFailure("no texts in \(language)")
                }
                let patterns = try read(text, file: file)
                all[language] = PayerWords(language: language, patterns: patterns)
            } catch {
                preconditionFailure("the built-in texts are invalid: \(error)")
            }
        }
        return all
    }()

    package let language: PayerLanguage
    private var patterns: [String: WordPattern]

    /// The built-in texts of a language.
    package static func `in`(_ language: PayerLanguage) -> PayerWords {
        guard let words = standard[language] else {
            preconditionFailure("every language has texts")
        }
        return words
    }

    /// Replaces some of these texts by an operator's file of the same shape.
    ///
    /// Errors: ``InvalidInput`` with the file and the reason: an invalid line, an unknown key, or a value that is not
    /// always known there.
    package func replacing(_ text: String) throws(InvalidInput) -> PayerWords {
        let file = "\(language.rawValue).txt"
        var words = self
        for (key, pattern) in try Self.read(text, file: file) {
            guard let ours = patterns[key] else {
                throw InvalidInput(
                    file,
                    "names the unknown key \(key). Use the keys of the built-in texts."
                )
            }
            guard pattern.required.isSubset(of: ours.required),
                pattern.values.isSubset(of: ours.values.union(Self.values))
            else {
                throw InvalidInput(
                    file,
                    "uses a value that may be unknown in \(key). Put it between [ and ]."
                )
            }
            words.patterns[key] = pattern
        }
        return words
    }

    /// The values that every text may use between brackets.
    static let values: Set<String> = [
        "amount", "received", "returned", "missing", "method", "shop", "about", "order",
    ]

    /// Returns the text of a key; empty for an unknown key.
    package func callAsFunction(_ key: String, _ values: [String: String] = [:]) -> String {
        patterns[key]?.text(values) ?? ""
    }

    /// Returns the text of the first subject that has one.
    func pattern(_ channel: Channel, _ subjects: [String], _ part: String) -> WordPattern? {
        subjects.lazy.compactMap { subject in
            patterns["\(channel.rawValue).\(subject).\(part)"]
                ?? patterns["page.\(subject).\(part)"]
        }.first
    }

    /// All texts by key, for tests.
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
                    "\(file), line \(number + 1)",
                    "must be `key = words`, with each [ and { closed"
                )
            }
            let key = String(line[..<equals.lowerBound])
            guard patterns.updateValue(pattern, forKey: key) == nil else {
                throw InvalidInput("\(file), line \(number + 1)", "repeats \(key)")
            }
        }
        return patterns
    }
}
