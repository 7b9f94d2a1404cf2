import PollerWire
import SafeNumbers
import Testing

@Suite("The unit of a currency")
struct CurrencyUnitTests {
    @Test(
        "an amount is written with the decimal places in common use",
        arguments: [
            ("eur", 1099, "10.99"), ("eur", 5, "0.05"), ("eur", -1099, "-10.99"),
            ("jpy", 5000, "5000"), ("kwd", 1500, "1.500"), ("huf", 500_000, "5000.00"),
            ("twd", 500_000, "5000.00"), ("ugx", 500_000, "5000"), ("isk", 500_000, "5000"),
            ("ISK", 0, "0"), ("ugx", 500_050, "5000.50"), ("ugx", -500_000, "-5000"),
            ("idr", 999_999_999_999, "9999999999.99"), ("lyd", 1, "0.001"), ("clp", 0, "0"),
        ]
    )
    func texts(currency: String, amount: Int, text: String) throws {
        #expect(try #require(CurrencyUnit(currency)).text(of: amount) == text)
        #expect(MoneyText.text(amount, currency) == "\(text) \(currency)")
    }

    @Test(
        "a decimal text is an amount if the currency's unit can express it",
        arguments: [
            ("eur", "10.00", 1000), ("eur", "10.5", 1050), ("eur", "10", 1000), ("eur", "0.01", 1),
            ("eur", "10.990", 1099), ("eur", "10.999", nil), ("jpy", "5000", 5000),
            ("jpy", "5000.00", 5000), ("jpy", "5000.50", nil), ("kwd", "1.234", 1234),
            ("ugx", "5000", 500_000), ("isk", "5000.00", 500_000),
            ("idr", "9999999999.99", 999_999_999_999), ("eur", "", nil), ("eur", ".5", nil),
            ("eur", "5.", nil), ("eur", "-5.00", nil), ("eur", "+5", nil), ("eur", "1,000.00", nil),
            ("eur", "1e3", nil), ("eur", "1.0.0", nil), ("eur", " 5", nil), ("eur", "٥", nil),
            ("eur", "90071992547409.91", SafeInteger.max), ("eur", "90071992547409.92", nil),
            ("eur", "99999999999999999999999", nil),
        ] as [(String, String, Int?)]
    )
    func decimals(currency: String, text: String, amount: Int?) throws {
        #expect(try #require(CurrencyUnit(currency)).minorUnits(decimal: text) == amount)
    }

    @Test("parsing an amount's text returns the amount", arguments: ["eur", "jpy", "kwd", "ugx"])
    func roundTrip(currency: String) throws {
        let unit = try #require(CurrencyUnit(currency))
        for amount in [0, 1, 9, 10, 99, 100, 101, 999, 1000, 123_456, SafeInteger.max] {
            #expect(unit.minorUnits(decimal: unit.text(of: amount)) == amount)
        }
    }

    @Test(
        "a text other than three letters has no unit",
        arguments: ["", "eu", "euro", "e1r", "ééé"]
    )
    func none(text: String) {
        #expect(CurrencyUnit(text) == nil)
        #expect(MoneyText.text(5, text) == (text.isEmpty ? "5" : "5 \(text)"))
    }

    @Test(
        "an amount for display has the sign of its currency",
        arguments: [
            (1099, "eur", "€10.99"), (5, "EUR", "€0.05"), (123_450, "gbp", "£1,234.50"),
            (5000, "jpy", "¥5,000"),
            (1_234_567_800, "usd", "$12,345,678.00"), (1099, "cad", "CA$10.99"),
            (1099, "chf", "CHF 10.99"),
            (1500, "kwd", "KWD 1.500"), (50_000, "isk", "ISK 500"), (-1099, "eur", "-€10.99"),
            (0, "eur", "€0.00"),
            (100_000, "eur", "€1,000.00"), (7, "", "7"), (7, "points", "7 points"),
        ]
    )
    func shown(_ amount: Int, _ currency: String, _ text: String) {
        #expect(MoneyText.shown(amount, currency) == text)
    }
}
