import PollerIncidents
import PollerQueue
import Testing

@testable import PollerRedis

@Suite("Partitions of lanes")
struct PartitionMapTests {
    @Test("a lane moves to its final partition when the process learns of the split")
    func hearing() {
        let settled = PartitionMap(partitions: 64)
        let map = PartitionMap(partitions: 64, base: 16, former: 16)
        for number in 0..<500 {
            let lane = "acct_\(number)/source"
            let (former, now) = (map.partition(of: lane), map.finalPartition(of: lane))
            #expect(former < 16 && now % 16 == former && now == settled.partition(of: lane))
            #expect(map.descendants(of: former).contains(now))
            #expect(map.fixedPartition(of: lane) == former)
        }
        #expect(map.mark(of: 7) == "" && map.mark(of: 23) == "")
        #expect(map.receive(64, from: 7))
        #expect(map.mark(of: 7) == "64" && map.mark(of: 23) == "64" && map.mark(of: 8) == "")
        let moved = (0..<500).map { "acct_\($0)/source" }.filter {
            map.finalPartition(of: $0) == 23
        }
        #expect(moved.allSatisfy { map.partition(of: $0) == 23 } && !moved.isEmpty)
        // A failover has lost that it was split.
        #expect(map.receive(0, from: 23) && map.mark(of: 7) == "")
        #expect(map.receive(64, from: 7) && map.receive(0, from: 7) && map.mark(of: 7) == "")
        #expect(!map.receive(256, from: 7) && !settled.receive(256, from: 7), "start it again")
        #expect(PartitionMap(partitions: 64, base: 16).mark(of: 40) == "64")
        let again = PartitionMap(partitions: 256, base: 16, former: 64)
        #expect(again.mark(of: 3) == "64" && again.mark(of: 67) == "", "a new one is not open")
        #expect(
            again.receive(0, from: 67) && again.receive(64, from: 3) && again.mark(of: 67) == ""
        )
        #expect(
            again.receive(256, from: 67) && again.mark(of: 3) == "256"
                && again.mark(of: 67) == "256"
        )
        #expect(!again.receive(0, from: 3), "the partition was split once")
    }

    @Test("incidents stay in the partition of their board")
    func incidents() {
        let lane = Incident.lane.description
        let map = PartitionMap(partitions: 64, base: 1, former: 1)
        #expect(map.receive(64, from: 0) && map.partition(of: lane) == 0)
    }
}
