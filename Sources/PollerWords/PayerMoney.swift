import Foundation
package import Poller
import PollerWire

/// Sums and dates as people write them in their language.
///
/// The separators, signs and names of months are Foundation's, from the tables of the Unicode
/// consortium. How many decimals a sum has says ``CurrencyUnit``, because Stripe counts some currencies
/// differently from those tables.
package enum PayerMoney {
    /// A sum in the smallest unit, such as `10,99 €`; nil when that is no currency.
    package static func text(
        _ amount: Amount,
        _ currency: String?,
        in language: PayerLanguage
    ) -> String? {
        guard let currency, let unit = CurrencyUnit(currency) else { return nil }
        let code = currency.uppercased()
        let sum = Decimal(
            sign: amount < 0 ? .minus : .plus,
            exponent: -unit.decimals,
            significand: Decimal(amount.minorUnits.magnitude)
        )
        return sum.formatted(
            .currency(code: code).locale(locale(language, code)).precision(
                .fractionLength(unit.decimalsShown(of: amount.minorUnits))
            )
        )
    }

    /// An instant to the minute, with its zone: that of its reader if it is known, else UTC.
    package static func time(
        _ time: Timestamp,
        in language: PayerLanguage,
        at zone: PayerZone? = nil
    ) -> String {
        let date = Date(timeIntervalSince1970: Double(time.ms) / 1000)
        let style = Date.FormatStyle(
            date: .long,
            time: .shortened,
            locale: locale(language, ""),
            timeZone: zone?.zone ?? .gmt
        )
        guard zone != nil else { return "\(date.formatted(style)) UTC" }
        return date.formatted(style.timeZone(.specificName(.short)))
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
            case .zh: "zh_Hans_CN"
            }
        return Locale(identifier: name)
    }
}

/// The time zone in which a payer reads times.
package struct PayerZone: Hashable, Sendable {
    /// Longer than any name of the time zone database.
    private static let nameMax = 64

    let zone: TimeZone

    /// Reads a name of the time zone database, `Europe/Berlin`; nil for any other text.
    package init?(_ name: String) {
        // Offsets and abbreviations are ambiguous: the name of a place also determines summer time.
        guard name.utf8.count <= Self.nameMax, name.contains("/"),
            let zone = TimeZone(identifier: name)
        else { return nil }
        self.zone = zone
    }
}
