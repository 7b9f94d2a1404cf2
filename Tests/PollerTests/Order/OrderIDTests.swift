import PollerIdentity
import Testing

@testable import PollerWatches

@Suite("Order ID")
struct OrderIDTests {
    /// Names as used by shops.
    static let taken = [
        "A77", "#1001", "2026/000123", "№ 5", "Bestellung 7/ä", "A+B", "100%",
        "wc_order_AbC123&key=x", "a?b",
        "../etc", "...", "order:7", "{7}", "|", "\"7\"", "O'Brien 3", "注文 12", "הזמנה-3", "🛒 7",
        "a\u{A0}b",
        "می\u{200C}خواهم", String(repeating: "x", count: 255), String(repeating: "ä", count: 255),
    ]
    static let refused = [
        "", " ", " 5", "5 ", "\u{A0}5", "5\u{3000}", ".", "..", "a\nb", "a\tb", "a\0b", "a\u{7F}b",
        "a\u{85}b",
        "a\u{2028}b", "a\u{202E}b", "a\u{2066}b", "a\u{200B}b", "\u{FEFF}a",
        String(repeating: "x", count: 256),
    ]

    @Test("printable text of any script is accepted unchanged", arguments: taken)
    func takes(_ text: String) throws {
        #expect(Array(try OrderID(text).description.utf8) == Array(text.utf8))
    }

    @Test("names with invisible characters or unfit for a path are rejected", arguments: refused)
    func refuses(_ text: String) throws {
        let error = #expect(throws: InvalidInput.self) { try OrderID(text) }
        #expect(error?.field == "order")
    }

    @Test("composed and decomposed letters give the same name")
    func composed() throws {
        let (composed, decomposed) = (try OrderID("ä7"), try OrderID("a\u{308}7"))
        #expect(composed == decomposed)
        #expect(composed.hashValue == decomposed.hashValue)
        #expect(Array(decomposed.description.utf8) == Array("\u{E4}7".utf8))
        let keys = [composed, decomposed].map { OrderKey(account: .main, order: $0).watch.id }
        #expect(keys[0] == keys[1])
    }
}
