import JSONText
import PollerIdentity
import PollerPayments
import Testing

@testable import PollerLocalization

@Suite("The time zone of a payer")
struct PayerZoneTests {
    /// 2026-11-18T11:06:40Z.
    private static let at = Timestamp(ms: 1_795_000_000_000)
    /// 2026-07-18T11:06:40Z.
    private static let inSummer = Timestamp(ms: 1_784_372_800_000)

    private static func zone(metadata: String?, shop: String?) throws -> PayerZone? {
        let branding = try Branding(name: "Shop", timeZone: shop)
        return Purchase(
            metadata: metadata.flatMap { RawJSON(#"{"time_zone":"\#($0)"}"#) },
            object: UpstreamObject(nil),
            branding: branding,
            kind: .source
        ).zone
    }

    @Test("the metadata's zone applies, then the shop's zone, then UTC")
    func chosen() throws {
        let berlin = PayerZone("Europe/Berlin")
        #expect(berlin != nil)
        #expect(
            try Self.zone(metadata: "Europe/Lisbon", shop: "Europe/Berlin")
                == PayerZone("Europe/Lisbon")
        )
        #expect(try Self.zone(metadata: nil, shop: "Europe/Berlin") == berlin)
        #expect(try Self.zone(metadata: "nowhere", shop: "Europe/Berlin") == berlin)
        #expect(try Self.zone(metadata: nil, shop: nil) == nil)
        for text in ["", "CET", "GMT+1", "Europe/Nowhere", "../../etc/passwd"] {
            #expect(PayerZone(text) == nil, "\(text)")
        }
    }

    @Test("an instant is shown in its zone with the zone's name, including summer time")
    func times() throws {
        let berlin = try #require(PayerZone("Europe/Berlin"))
        let winter = PayerMoney.time(Self.at, in: .en, at: berlin)
        #expect(winter.contains("12:06") && winter.hasSuffix("CET"), "\(winter)")
        let summer = PayerMoney.time(Self.inSummer, in: .en, at: berlin)
        #expect(summer.contains("13:06") && summer.hasSuffix("CEST"), "\(summer)")
        for language in PayerLanguage.allCases {
            let text = PayerMoney.time(Self.at, in: language, at: berlin)
            #expect(text.contains("12:06") && !text.hasSuffix("UTC"), "\(text)")
        }
    }

    @Test("a shop's zone that is not a place name is rejected with an example")
    func refused() {
        for zone in ["Berlin", "CET", "Europe/Nowhere", ""] {
            #expect(throws: InvalidInput.self, "\(zone)") {
                try Branding(name: "S", timeZone: zone)
            }
        }
    }
}
