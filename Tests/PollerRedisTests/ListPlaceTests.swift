import Poller
import PollerIdentity
import Testing

@testable import PollerRedis

@Suite("Where lists stand")
struct ListPlaceTests {
    private let map = PartitionMap(partitions: 16)

    private func cursor(_ parts: String...) -> String {
        Base64URL.encode(Packed.join(parts).utf8)
    }

    @Test(
        "a cursor whose score is no number is none of ours, whatever it lists",
        arguments: ["soon", "nan", "1e", "(1"]
    )
    func scores(_ score: String) {
        #expect(WatchPlace(cursor: cursor("c", score, "w1"), of: map) == nil)
    }

    @Test(
        "every score that Redis writes is taken",
        arguments: ["0", "1795000000123", "-1", "1.5", "1.7950000001230000e+17", "inf", "-inf"]
    )
    func redisScores(_ score: String) throws {
        #expect(WatchPlace(cursor: cursor("c", score, "w1"), of: map) != nil)
    }
}
