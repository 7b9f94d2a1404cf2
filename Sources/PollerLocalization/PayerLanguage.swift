package import PollerPayments

/// A language in which pages and emails address payers.
///
/// The order of precedence is: the language the shop gives for its customer, the languages of the customer's
/// browser, the account's language, English.
package enum PayerLanguage: String, Hashable, Sendable, CaseIterable {
    case en, de, fr, nl, es, it, pl, pt
    /// Simplified Chinese, also for readers of other Chinese scripts, because there is no text in these.
    case zh

    /// The largest number of language ranges read from a header.
    ///
    /// Browsers send about five.
    private static let rangesMax = 32

    /// Parses a language tag such as `de-AT` or a locale such as `pt_BR`; `nil` for an unsupported language.
    ///
    /// *Source*: RFC 5646 §2.1: the first subtag is the language.
    package init?(tag: some StringProtocol) {
        let first = tag.prefix { $0 != "-" && $0 != "_" }
        self.init(rawValue: first.lowercased())
    }

    /// The supported language with the highest weight in an `Accept-Language` header; `nil` when there is none
    /// or when `*` has the highest weight.
    ///
    /// *Source*: RFC 9110 §12.5.4 (the header) and §12.4.2 (weights): a missing weight is 1, and 0 excludes.
    package init?(acceptLanguage header: String?) {
        var best: (language: PayerLanguage?, weight: Double)?
        for range in (header ?? "").split(separator: ",").prefix(Self.rangesMax) {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let tag = parts.first else { continue }
            let weight = Self.weight(parts.dropFirst())
            let isAny = tag == "*"
            guard weight > 0, isAny || PayerLanguage(tag: tag) != nil else { continue }
            // Browsers list languages in order of preference, so the first of equal weights wins.
            if weight > best?.weight ?? 0 { best = (PayerLanguage(tag: tag), weight) }
        }
        guard let language = best?.language else { return nil }
        self = language
    }

    /// The weight of a range.
    ///
    /// An invalid weight is 0, so that the range is ignored.
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

extension PayerLanguage {
    /// The language tag of HTML documents.
    ///
    /// *Source*: RFC 5646; browsers choose the font of Chinese text by its script.
    package var htmlTag: String { self == .zh ? "zh-Hans" : rawValue }
}

extension Branding {
    /// The account's language; `nil` when it has configured none or an unsupported one.
    package var language: PayerLanguage? { languageTag.flatMap { PayerLanguage(tag: $0) } }
}
