package import Poller

/// A language that payers are spoken to in.
///
/// Which one it is decides, in this order: what the shop said of its customer, what the customer's
/// browser asks for, what the account speaks, English.
package enum PayerLanguage: String, Hashable, Sendable, CaseIterable {
    case en, de, fr, nl, es, it, pl, pt

    /// Ranges of a header that are looked at; browsers send a handful.
    private static let rangesMax = 32

    /// Reads a language tag such as `de-AT`, or a locale such as `pt_BR`; nil for a language we have
    /// no words in.
    ///
    /// *Source*: RFC 5646 §2.1: what stands first is the language.
    package init?(tag: some StringProtocol) {
        let first = tag.prefix { $0 != "-" && $0 != "_" }
        self.init(rawValue: first.lowercased())
    }

    /// The language a browser likes best of those we have words in; nil when it likes none, or all
    /// alike.
    ///
    /// *Source*: RFC 9110 §12.5.4 (the header) and §12.4.2 (weights): no weight is 1, and 0 refuses.
    package init?(acceptLanguage header: String?) {
        var best: (language: PayerLanguage?, weight: Double)?
        for range in (header ?? "").split(separator: ",").prefix(Self.rangesMax) {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let tag = parts.first else { continue }
            let weight = Self.weight(parts.dropFirst())
            let isAny = tag == "*"
            guard weight > 0, isAny || PayerLanguage(tag: tag) != nil else { continue }
            // Of equal weights the first counts, as browsers mean it.
            if weight > best?.weight ?? 0 { best = (PayerLanguage(tag: tag), weight) }
        }
        guard let language = best?.language else { return nil }
        self = language
    }

    /// The weight of a range; 0, so that it does not count, for one that is none.
    private static func weight(_ parameters: ArraySlice<String>) -> Double {
        for parameter in parameters where parameter.lowercased().hasPrefix("q=") {
            guard let weight = Double(parameter.dropFirst(2)), (0...1).contains(weight) else {
                return 0
            }
            return weight
        }
        return 1
    }
}

extension Branding {
    /// What the shop speaks when nobody says otherwise.
    package var language: PayerLanguage? { languageTag.flatMap { PayerLanguage(tag: $0) } }
}
