import PollerIdentity
import Testing

@testable import PollerRedis

@Suite("List cursors")
struct ListCursorTests {
    private let map = PartitionMap(partitions: 16)

    private func cursor(_ parts: String...) -> String {
        Base64URL.encode(Packed.join(parts).utf8)
    }

    @Test(
        "a cursor with a score that is not a number is rejected",
        arguments: ["soon", "nan", "1e", "(1"]
    )
    func scores(_ score: String) {
        #expect(WatchListPosition(cursor: cursor("c", score, "w1"), of: map) == nil)
    }

    @Test(
        "a cursor with any score that Redis writes is accepted",
        arguments: ["0", "1795000000123", "-1", "1.5", "1.7950000001230000e+17", "inf", "-inf"]
    )
    func redisScores(_ score: String) throws {
        #expect(WatchListPosition(cursor: cursor("c", score, "w1"), of: map) != nil)
    }
}
