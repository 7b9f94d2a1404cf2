import Foundation
package import Poller

/// Sums and dates as people write them in their language.
///
/// The separators, signs and names of months are Foundation's, from the tables of the Unicode
/// consortium; how many decimals a sum has is the upstream's, which counts some currencies otherwise
/// than the tables do.
package enum PayerMoney {
    /// A sum in the smallest unit, such as `10,99 €`; nil when that is no currency.
    package static func text(
        _ amount: Amount,
        _ currency: String?,
        in language: PayerLanguage
    ) -> String? {
        guard let currency, let decimals = decimals(of: currency) else { return nil }
        let code = currency.uppercased()
        let sum = Decimal(
            sign: amount < 0 ? .minus : .plus,
            exponent: -decimals,
            significand: Decimal(amount.minorUnits.magnitude)
        )
        return sum.formatted(
            .currency(code: code).locale(locale(language, code)).precision(
                .fractionLength(decimals)
            )
        )
    }

    /// How many decimals a currency is counted with; nil when that is no currency.
    ///
    /// *Source*: <https://docs.stripe.com/currencies#zero-decimal>, and the three-decimal ones below it.
    package static func decimals(of currency: String) -> Int? {
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) })
        else { return nil }
        let code = currency.uppercased()
        return whole.contains(code) ? 0 : thousandths.contains(code) ? 3 : 2
    }

    /// An instant to the minute, in UTC and saying so: nobody knows where its reader is.
    package static func time(_ time: Timestamp, in language: PayerLanguage) -> String {
        let date = Date(timeIntervalSince1970: Double(time.ms) / 1000)
        let style = Date.FormatStyle(
            date: .long,
            time: .shortened,
            locale: locale(language, ""),
            timeZone: .gmt
        )
        return "\(date.formatted(style)) UTC"
    }

    /// The place that a language is written as in; Brazil's for sums in its own money.
    private static func locale(_ language: PayerLanguage, _ code: String) -> Locale {
        let name =
            switch language {
            case .en: code == "USD" ? "en_US" : "en_GB"
            case .de: "de_DE"
            case .fr: "fr_FR"
            case .nl: "nl_NL"
            case .es: "es_ES"
            case .it: "it_IT"
            case .pl: "pl_PL"
            case .pt: code == "BRL" ? "pt_BR" : "pt_PT"
            }
        return Locale(identifier: name)
    }

    private static let whole: Set<String> = [
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "UGX", "VND", "VUV",
        "XAF", "XOF", "XPF",
    ]
    private static let thousandths: Set<String> = ["BHD", "JOD", "KWD", "OMR", "TND"]
}
