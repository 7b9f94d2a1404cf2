import PollerPayments
import PollerWire

/// An amount as people type it: `49.90`, `49,90`, `€49.90`, `49.90 EUR`, `1.234,50 €`, `¥5000`, or `4990` in the
/// smallest unit.
///
/// *Units*: decimal places are those of the payment's own currency (`CurrencyUnit`), so `49.90` is 4990 cents, 49900
/// fils of a Kuwaiti dinar and no amount of yen.
/// *Limits*: those of `Amount`.
struct EnteredAmount: Hashable {
    /// The digits with at most one point.
    let number: String
    /// Whether the digits count smallest units.
    let isMinor: Bool
    /// The possible currencies, lower case; empty without a currency.
    let currencies: [String]

    /// The signs of currencies; `$` and `¥` stand for several currencies.
    private static let signs: [(sign: String, currencies: [String])] = [
        ("€", ["eur"]), ("£", ["gbp"]), ("$", ["usd", "aud", "cad", "hkd", "mxn", "nzd", "sgd"]),
        ("¥", ["jpy", "cny"]), ("₹", ["inr"]), ("₩", ["krw"]), ("₺", ["try"]), ("zł", ["pln"]),
        ("kč", ["czk"]), ("r$", ["brl"]), ("kr", ["sek", "nok", "dkk"]),
    ]
    /// The codes that people type with an amount; other codes could be words.
    private static let codes: Set<String> = [
        "aud", "bgn", "bhd", "brl", "cad", "chf", "cny", "czk", "dkk", "eur", "gbp", "hkd", "huf",
        "ils", "inr", "isk", "jpy", "krw", "kwd", "mxn", "myr", "nok", "nzd", "pln", "ron", "sek",
        "sgd", "thb", "twd", "usd", "zar",
    ]
    /// One currency of each number of decimal places.
    private static let units = ["eur", "jpy", "bhd"]

    /// Parses an amount; `nil` for any other text.
    ///
    /// - Parameters:
    ///   - text: the typed text.
    ///   - isField: whether it is known to be an amount. Elsewhere a number without a currency and without
    ///     decimal places is a word.
    init?(_ text: String, isField: Bool = false) {
        let (digits, currencies) = Self.parted(text.lowercased().filter { !$0.isWhitespace })
        guard let number = Self.number(digits, of: currencies) else { return nil }
        let hasPoint = number.contains(".")
        guard hasPoint || !currencies.isEmpty || isField else { return nil }
        self.number = number
        self.currencies = currencies
        isMinor = !hasPoint && currencies.isEmpty
        guard !amounts.isEmpty else { return nil }
    }

    /// Whether a text is only a currency's sign or code, as in `49,90 €`.
    static func isCurrency(_ text: String) -> Bool {
        let text = text.lowercased()
        return codes.contains(text) || signs.contains { $0.sign == text }
    }

    /// Returns the amount in the smallest unit of a payment's currency; `nil` for another currency, or if it has none.
    func amount(in currency: String?) -> Amount? {
        if isMinor { return Amount(decimal: number) }
        let currency = currency?.lowercased() ?? "eur"
        guard currencies.isEmpty || currencies.contains(currency) else { return nil }
        return (CurrencyUnit(currency)?.minorUnits(decimal: number)).flatMap { Amount($0) }
    }

    /// Every possible amount, each once.
    var amounts: [Amount] {
        let all = (currencies.isEmpty ? Self.units : currencies).compactMap { amount(in: $0) }
        var seen: Set<Amount> = []
        return all.filter { seen.insert($0).inserted }
    }

    /// Splits a text into the number and the currencies of its sign or code, before or after it.
    private static func parted(_ text: String) -> (number: Substring, currencies: [String]) {
        let isOfNumber = { (character: Character) in
            character.isASCII && character.isNumber || ".,'’".contains(character)
        }
        let name = text.filter { !isOfNumber($0) }
        guard !name.isEmpty, text.hasPrefix(name) || text.hasSuffix(name) else {
            return (name.isEmpty ? text[...] : "", [])
        }
        let digits = text.hasPrefix(name) ? text.dropFirst(name.count) : text.dropLast(name.count)
        if let sign = signs.first(where: { $0.sign == name }) { return (digits, sign.currencies) }
        return codes.contains(name) ? (digits, [name]) : ("", [])
    }

    /// Returns the digits with at most one point; `nil` for a text that is not a number.
    ///
    /// The last point or comma is the decimal separator if one or two digits follow it. Before three digits only a
    /// single point is, if the currency is unknown or has three decimal places. All other separators are alike, differ
    /// from the decimal one, and separate groups of three digits.
    private static func number(_ text: Substring, of currencies: [String]) -> String? {
        let isSeparator = { (character: Character) in ".,'’".contains(character) }
        let parts = text.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)
        guard parts.allSatisfy({ !$0.isEmpty }), let first = parts.first, let last = parts.last
        else { return nil }
        guard parts.count > 1 else { return String(first) }
        let separators = Array(text.filter(isSeparator))
        let hasThree = currencies.isEmpty || CurrencyUnit.threeDecimal.isSuperset(of: currencies)
        let mayBeDecimal = separators.last == "." || separators.last == ","
        let isDecimal =
            mayBeDecimal
            && (last.count <= 2 || (last.count == 3 && separators == ["."] && hasThree))
        let groups = isDecimal ? parts.dropLast() : parts[...]
        let between = isDecimal ? separators.dropLast() : separators[...]
        guard Set(between).count <= 1, groups.dropFirst().allSatisfy({ $0.count == 3 }),
            groups.count == 1 || first.count <= 3, !isDecimal || between.last != separators.last
        else { return nil }
        let whole = groups.joined(separator: "")
        if isDecimal { return "\(whole).\(last)" }
        return currencies.isEmpty ? nil : whole
    }
}
