import Poller
import Testing

@Suite("Settlement")
struct SettlementTests {
    @Test("a single-use source of an instant method is paid when it is consumed")
    func atOnce() {
        for method in ["ideal", "bancontact", "multibanco", "IDEAL"] {
            #expect(Settlement(method: method, usage: "single_use") == .atOnce, "\(method)")
        }
    }

    @Test(
        "a delayed, reusable or unknown source is not paid when it is consumed",
        arguments: [
            ("sofort", "single_use"), ("klarna", "single_use"), ("sepa_debit", "reusable"),
            ("card", "reusable"), ("alipay", "reusable"), ("newpay", "single_use"),
            ("ideal", nil), (nil, "single_use"), (nil, nil),
        ] as [(String?, String?)]
    )
    func delayed(method: String?, usage: String?) {
        #expect(Settlement(method: method, usage: usage) == .delayed)
    }

    @Test("an event without a source has no settlement information")
    func events() {
        #expect(Settlement(of: nil) == .delayed)
        #expect(Settlement(of: Sample.event(seq: 1, status: "consumed")) == .delayed)
    }
}
