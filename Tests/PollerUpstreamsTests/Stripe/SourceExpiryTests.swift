import JSONText
import PollerIdentity
import PollerPayments
import Testing

@testable import Poller
@testable import PollerUpstreams

@Suite("The expiry of a source at Stripe")
struct SourceExpiryTests {
    /// 2026-11-20 12:00:00 UTC.
    private static let created: Int64 = 1_795_176_000

    private func hours(
        _ type: String,
        _ status: String,
        usage: String = "single_use",
        in table: SourceExpiry = .documented,
        at offset: Duration = .zero
    ) throws -> Double? {
        let text =
            #"{"id":"src_1","status":"\#(status)","type":"\#(type)","usage":"\#(usage)","#
            + #""created":\#(Self.created)}"#
        let start = Timestamp(ms: Self.created * 1000)
        let facts = try ObjectFacts(scanning: Array(text.utf8))
        let end = table.expiresAt(facts, of: .source, now: start + offset)
        return end.map { ($0 - start).inSeconds / 3600 }
    }

    @Test(
        "a source expires as documented for its payment method",
        arguments: [
            ("bancontact", "pending", 1), ("giropay", "pending", 1), ("ideal", "pending", 1),
            ("sofort", "pending", 1), ("p24", "pending", 1), ("alipay", "pending", 1),
            ("wechat", "pending", 1), ("multibanco", "pending", 168),
            ("ideal", "chargeable", 7), ("multibanco", "chargeable", 174),
            // 15:45 UTC is earlier than seven hours later.
            ("wechat", "chargeable", 3.75), ("alipay", "chargeable", 3.75),
            ("ideal", "consumed", nil), ("card", "chargeable", nil), ("card", "pending", nil),
            ("eps", "pending", nil), ("klarna", "pending", nil), ("tomorrow", "pending", nil),
        ] as [(String, String, Double?)]
    )
    func table(type: String, status: String, expected: Double?) throws {
        #expect(try hours(type, status) == expected)
    }

    @Test("a reusable source does not expire")
    func reusable() throws {
        #expect(try hours("alipay", "pending", usage: "reusable") == nil)
    }

    @Test("after China's daily close the next close applies, limited to six hours")
    func afterClose() throws {
        #expect(try hours("wechat", "chargeable", at: .seconds(4 * 3600)) == 7)
    }

    @Test("an operator adds and removes entries")
    func changes() throws {
        let table = try SourceExpiry(changes: "eps=1h/6h, ideal=-/-,tomorrow=2d/-")
        #expect(try hours("eps", "pending", in: table) == 1)
        #expect(try hours("eps", "chargeable", in: table) == 7)
        #expect(try hours("ideal", "pending", in: table) == nil)
        #expect(try hours("tomorrow", "pending", in: table) == 48)
        #expect(try hours("p24", "pending", in: table) == 1)
    }

    @Test("the warnings of an expiring source follow the operator's entries")
    func warned() throws {
        let text =
            #"{"id":"src_1","status":"chargeable","type":"eps","usage":"single_use","#
            + #""amount":1099,"created":\#(Self.created)}"#
        let start = Timestamp(ms: Self.created * 1000)
        let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)
        func warnings(_ expiry: SourceExpiry) throws -> [Double] {
            let facts = StripePayments(expiry: expiry).facts(
                of: key,
                in: RawJSON(unchecked: text),
                charge: nil,
                lists: .unread,
                seenAt: start
            )
            let known = try #require(facts)
            return PaymentLifetime(known, Payment(known), now: start).warnings
                .map { ($0 - start).inSeconds / 3600 }
        }
        #expect(try warnings(SourceExpiry(changes: "eps=1h/6h")) == [3.5, 6.3])
        #expect(try warnings(.documented) == [])
    }

    @Test(
        "an invalid entry is rejected",
        arguments: ["eps", "eps=1h", "eps=1h/x", "=1h/1h", "a=0s/1h"]
    )
    func refused(text: String) {
        #expect(throws: InvalidInput.self) { try SourceExpiry(changes: text) }
    }
}
