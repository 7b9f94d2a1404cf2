import SafeNumbers

/// The unit of a currency's amounts, and how amounts are displayed.
///
/// This is the only table of currencies. Emails, pages, the timeline and `pollerctl` use it, and the console loads it
/// as the module `currencies.js`.
///
/// | currencies | the API counts | people write |
/// |---|---|---|
/// | most | hundredths: 1099 is 10.99 | two decimal places |
/// | zero-decimal: BIF, CLP, DJF, GNF, JPY, KMF, KRW, MGA, PYG, RWF, VND, VUV, XAF, XOF, XPF | whole units | none |
/// | ISK, UGX | hundredths, though the currency has none any more: 500 is 5 | none |
/// | three-decimal: BHD, JOD, KWD, OMR, TND | thousandths, the last digit always 0 | three decimal places |
/// | IQD, LYD, which Stripe does not charge | thousandths, as ISO 4217 says | three decimal places |
///
/// HUF and TWD are counted in hundredths like most. Stripe treats them as zero-decimal only in payouts, which are not
/// watched.
///
/// *Source*: <https://docs.stripe.com/currencies#zero-decimal>, `#three-decimal` and `#special-cases` on the
/// same page (ISK and UGX became zero-decimal currencies, and the API keeps two decimal places for
/// compatibility); ISO 4217, list one.
package struct CurrencyUnit: Hashable, Sendable {
    /// The code of three lowercase letters.
    package let code: String
    /// The decimal places of an amount in the API: 0, 2 or 3.
    package let decimals: Int
    /// Whether the decimal places are always zero.
    package let isWhole: Bool

    /// Creates the unit of a currency; `nil` if the text is not three letters.
    package init?(_ currency: String) {
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) })
        else { return nil }
        code = currency.lowercased()
        decimals = Self.zeroDecimal.contains(code) ? 0 : Self.threeDecimal.contains(code) ? 3 : 2
        isWhole = Self.wholeInHundredths.contains(code)
    }

    /// Returns the number of decimal places to display for an amount.
    ///
    /// An unexpected fraction is displayed, not rounded.
    package func decimalsShown(of minorUnits: Int) -> Int {
        isWhole && minorUnits % 100 == 0 ? 0 : decimals
    }

    /// Returns an amount as decimal digits, such as `10.99`, `5000` or `-1.500`.
    package func text(of minorUnits: Int) -> String {
        let digits = String(minorUnits.magnitude)
        let sign = minorUnits < 0 ? "-" : ""
        guard decimals > 0 else { return sign + digits }
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        let whole = padded.dropLast(decimals)
        let shown = decimalsShown(of: minorUnits)
        return shown == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(padded.suffix(decimals))"
    }

    /// Returns the API amount of decimal digits: `10.00` is 1000 in EUR and 10 in JPY.
    ///
    /// Missing decimal places count as zeros, and extra ones must be zeros.
    /// - Returns: `nil` for a sign, an exponent, a separator other than one point, an amount that the unit cannot
    ///   express, or one beyond ``SafeInteger``.
    package func minorUnits(decimal text: some StringProtocol) -> Int? {
        let parts = String(text).split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = parts.first else { return nil }
        let fraction = parts.count == 2 ? parts[1] : "0"
        let isSpelled = [whole, fraction].allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard isSpelled, fraction.dropFirst(decimals).allSatisfy({ $0 == "0" }) else { return nil }
        let kept = fraction.prefix(decimals)
        let zeros = String(repeating: "0", count: decimals - kept.count)
        return Int(safe: "\(whole)\(kept)\(zeros)")
    }

    package static let zeroDecimal: Set<String> = [
        "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf",
        "xof", "xpf",
    ]
    package static let threeDecimal: Set<String> = [
        "bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd",
    ]
    package static let wholeInHundredths: Set<String> = ["isk", "ugx"]
}

/// Text of amounts for people.
package enum MoneyText {
    /// Returns an amount with its currency, such as `10.99 eur`, or the number alone if the currency is unknown.
    package static func text(_ minorUnits: Int, _ currency: String?) -> String {
        guard let currency, !currency.isEmpty else { return "\(minorUnits)" }
        let number = CurrencyUnit(currency)?.text(of: minorUnits) ?? "\(minorUnits)"
        return "\(number) \(currency)"
    }

    /// Returns an amount in English notation, such as `€10.99`, `£1,234.50`, `¥5,000` or `CHF 10.99`.
    ///
    /// A currency that shares its sign is written with its country (`CA$10.99`). A currency without a sign is written
    /// with its code.
    package static func shown(_ minorUnits: Int, _ currency: String?) -> String {
        guard let currency, let unit = CurrencyUnit(currency) else {
            return text(minorUnits, currency)
        }
        let digits = unit.text(of: Int(clamping: minorUnits.magnitude))
        let whole = digits.prefix { $0 != "." }
        var grouped = ""
        for (place, digit) in whole.enumerated() {
            if place > 0, (whole.count - place) % 3 == 0 { grouped += "," }
            grouped.append(digit)
        }
        let sign = signs[unit.code] ?? "\(unit.code.uppercased()) "
        return "\(minorUnits < 0 ? "-" : "")\(sign)\(grouped)\(digits.dropFirst(whole.count))"
    }

    private static let signs = [
        "eur": "€", "gbp": "£", "usd": "$", "jpy": "¥", "inr": "₹", "krw": "₩", "ils": "₪",
        "php": "₱", "vnd": "₫", "try": "₺", "cad": "CA$", "aud": "A$", "nzd": "NZ$", "hkd": "HK$",
        "sgd": "S$", "twd": "NT$", "mxn": "MX$", "brl": "R$", "cny": "CN¥",
    ]
}
