import PollerIdentity
import Testing

@testable import PollerPayments
@testable import PollerWatches

/// Amounts as typed into a search.
@Suite struct EnteredAmountTests {
    @Test(
        "common spellings of an amount are accepted",
        arguments: [
            ("49.90", "eur", 4990), ("49,90", "eur", 4990), ("49,9", "eur", 4990),
            ("€49.90", "eur", 4990),
            ("49.90€", "eur", 4990), ("€50", "eur", 5000), ("eur49,90", "eur", 4990),
            ("49.90EUR", "eur", 4990),
            ("1,234.50", "usd", 123_450), ("1.234,50", "eur", 123_450),
            ("1'234.50", "chf", 123_450),
            ("€1.234", "eur", 123_400), ("€1.234.567", "eur", 123_456_700), ("¥5000", "jpy", 5000),
            ("¥5,000", "jpy", 5000), ("$49.90", "cad", 4990), ("1.500kwd", "kwd", 1500),
            ("1.5", "bhd", 1500),
            ("£0.30", "gbp", 30),
        ]
    )
    func read(_ text: String, _ currency: String, _ amount: Int) {
        #expect(EnteredAmount(text)?.amount(in: currency) == Amount(amount), "\(text)")
    }

    @Test(
        "text that is not an amount is a word",
        arguments: [
            "4990", "A77", "2026-11-27", "27.11.2026", "127.0.0.1", "1,2,3", "1.2.3", "49.", ".90",
            "€", "EUR",
            "v1.5", "-5.00", "1,23,456", "99999999999999999999.00", "",
        ]
    )
    func words(_ text: String) {
        #expect(EnteredAmount(text) == nil, "\(text)")
    }

    @Test("amounts in different currencies differ")
    func currencies() throws {
        let euros = try #require(EnteredAmount("€49.90"))
        #expect(euros.amount(in: "usd") == nil && euros.amount(in: nil) == Amount(4990))
        #expect(euros.amounts == [Amount(4990)].compactMap(\.self))
        let any = try #require(EnteredAmount("49.90"))
        #expect(any.amount(in: "kwd") == Amount(49_900) && any.amount(in: "jpy") == nil)
        #expect(any.amounts.map(\.minorUnits) == [4990, 49_900])
    }

    @Test("in an amount field, plain digits are in the smallest unit")
    func fields() throws {
        #expect(try amounts("amount=4990") == [4990])
        #expect(try amounts("amount=49,90") == [4990, 49_900])
        #expect(try amounts("amount=4990,5000") == [4990, 5000])
        #expect(try amounts("amount=€49.90") == [4990])
        #expect(try query("amount>=49,90").conditions.count == 1)
    }

    @Test("a currency next to an amount belongs to it")
    func joined() throws {
        for text in ["49,90 €", "€ 49,90", "49.90 EUR", "eur 49.90"] {
            #expect(try query(text).conditions.count == 1, "\(text)")
        }
        for text in ["Pat 49.90", "49.90 50.10", "EUR USD", "€ A77"] {
            #expect(try query(text).conditions.count == 2, "\(text)")
        }
    }

    private func amounts(_ text: String) throws -> [Int] {
        guard case .money(let money)? = try query(text).conditions.first?.operand else { return [] }
        return money.flatMap(\.amounts).map(\.minorUnits)
    }

    private func query(_ text: String) throws -> SearchQuery {
        try SearchQuery(text, keys: .standard, now: Timestamp(ms: 1_800_000_000_000))
    }
}
