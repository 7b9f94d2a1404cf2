import Foundation
package import PollerIdentity
package import PollerPayments
import PollerWire

/// Formats amounts and dates for payers.
///
/// Separators, currency symbols and month names come from Foundation (Unicode CLDR). The number of decimals comes from
/// ``CurrencyUnit``, because Stripe counts some currencies differently.
package enum PayerMoney {
    /// Formats an amount in the smallest unit, such as `10,99 €`; `nil` for an unknown currency.
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

    /// Formats an instant to the minute in the reader's time zone, or in UTC when the zone is unknown.
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

    /// The locale for a language.
    ///
    /// Brazilian reais use the Brazilian form of Portuguese, and US dollars the US form of English.
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

/// The time zone of a payer.
package struct PayerZone: Hashable, Sendable {
    /// The largest length of a name, in bytes.
    ///
    /// No name of the time zone database is longer.
    private static let nameMax = 64

    let zone: TimeZone

    /// Parses a name of the time zone database such as `Europe/Berlin`; `nil` for other text.
    package init?(_ name: String) {
        // Offsets and abbreviations are ambiguous: the name of a place also determines summer time.
        guard name.utf8.count <= Self.nameMax, name.contains("/"),
            let zone = TimeZone(identifier: name)
        else { return nil }
        self.zone = zone
    }
}
