import PollerIdentity
import PollerPayments
import Testing

@Suite("Refund accounts")
struct RefundAccountTests {
    @Test("an IBAN is accepted with spaces and lower case, and its check digits are verified")
    func iban() throws {
        let account = try RefundAccount(
            holder: "Jenny Rosen",
            identifier: .iban("de89 3704 0044 0532 0130 00")
        )
        #expect(account.identifier == .iban("DE89370400440532013000"))
        for wrong in [
            "DE88370400440532013000", "DE89", "", "1289370400440532013000",
            "DE8937040044053201300€",
        ] {
            #expect(throws: InvalidInput.self, "\(wrong)") {
                try RefundAccount(holder: "Jenny Rosen", identifier: .iban(wrong))
            }
        }
    }

    @Test("a US account needs nine routing digits and four to seventeen account digits")
    func american() throws {
        _ = try RefundAccount(
            holder: "A",
            identifier: .american(routing: "110000000", number: "000123456789", isBusiness: false)
        )
        for (routing, number) in [
            ("11000000", "0001"), ("110000000", "000"), ("11000000x", "0001"),
        ] {
            #expect(throws: InvalidInput.self) {
                try RefundAccount(
                    holder: "A",
                    identifier: .american(routing: routing, number: number, isBusiness: false)
                )
            }
        }
    }

    @Test("an empty holder is rejected, and the description contains no account details")
    func holder() throws {
        for name in ["", "  ", "a\u{7}", String(repeating: "a", count: 256)] {
            #expect(throws: InvalidInput.self) {
                try RefundAccount(holder: name, identifier: .iban("DE89370400440532013000"))
            }
        }
        let account = try RefundAccount(
            holder: "Jenny",
            identifier: .iban("DE89370400440532013000")
        )
        var dumped = ""
        dump(account, to: &dumped)
        #expect(!"\(account) \(dumped)".contains("DE89") && !dumped.contains("Jenny"))
    }
}
