import Testing

@testable import StripeSandbox

@Suite("Stripe's test cards by name")
struct TestCardsTests {
    @Test(
        "every number is a valid card number",
        arguments: TestCards.numbers.sorted { $0.key < $1.key }
    )
    func numbers(name: String, number: String) throws {
        let form = try Form(parsing: "card[number]=\(number)".utf8)
        let card = try SandboxCard(path: ["card"], form)
        #expect(card.number == number, "\(name)")
    }

    @Test("tokens and methods share names, and unknown names have no card")
    func names() {
        #expect(TestCards.card(token: "tok_visa")?.last4 == "4242")
        #expect(TestCards.card(method: "pm_card_visa")?.last4 == "4242")
        #expect(TestCards.card(token: "tok_de")?.country == "DE")
        #expect(TestCards.card(token: "pm_card_visa") == nil)
        #expect(TestCards.card(method: "pm_card_nobody") == nil)
    }

    @Test(
        "each object uses its spelling of the brand",
        arguments: [
            ("visa", "Visa"), ("mastercard", "MasterCard"), ("amex", "American Express"),
            ("discover", "Discover"), ("diners", "Diners Club"), ("jcb", "JCB"),
            ("unionpay", "UnionPay"),
        ]
    )
    func brands(name: String, brand: String) {
        let card = TestCards.card(token: "tok_\(name)")
        #expect(card?.network == name)
        #expect(card?.brand == brand)
    }
}
