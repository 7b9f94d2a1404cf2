import Testing

@testable import StripeSandbox

@Suite struct SourceExpiryTests {
    private static let hourMs: Int64 = 3_600_000

    @Test(
        "each type dies after its documented time, pending and chargeable",
        arguments: [
            ("bancontact", 1, 6), ("giropay", 1, 6), ("ideal", 1, 6), ("sofort", 1, 6),
            ("p24", 1, 6), ("eps", 1, 6), ("klarna", 1, 6), ("three_d_secure", 1, 6),
            ("multibanco", 7 * 24, 6), ("card", nil, nil), ("ach_credit_transfer", nil, nil),
            ("sepa_debit", 10 * 24, nil),
        ] as [(String, Int64?, Int64?)]
    )
    func table(type: String, pending: Int64?, chargeable: Int64?) throws {
        let expiry = try #require(SourceKind.all[type]).expiry
        #expect(expiry.endMs(status: "pending", nowMs: 5) == pending.map { 5 + $0 * Self.hourMs })
        #expect(
            expiry.endMs(status: "chargeable", nowMs: 5) == chargeable.map { 5 + $0 * Self.hourMs }
        )
        #expect(expiry.endMs(status: "consumed", nowMs: 5) == nil)
    }

    /// 15:45 UTC is 23:45 in China, which knows no summer time.
    @Test(
        "Alipay and WeChat Pay end with the Chinese day, or after six hours, whichever is first",
        arguments: [(8.0, 14.0), (10.0, 15.75), (15.5, 15.75), (15.75, 21.75), (23.0, 29.0)]
    )
    func chineseDay(from: Double, to: Double) throws {
        for type in ["alipay", "wechat"] {
            let expiry = try #require(SourceKind.all[type]).expiry
            let dayMs = 20_000 * 24 * Self.hourMs
            let end = expiry.endMs(
                status: "chargeable",
                nowMs: dayMs + Int64(from * Double(Self.hourMs))
            )
            #expect(end == dayMs + Int64(to * Double(Self.hourMs)))
        }
    }
}
