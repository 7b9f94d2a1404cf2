import Poller
import Testing

@Suite("Ownership")
struct OwnershipTests {
    let owners = (0..<5).map { OwnerID(unchecked: "owner-\($0)") }

    func shares(_ members: [OwnerID], partitions: Int = 64) -> [Set<Int>] {
        members.map { Ownership.partitions(partitions, of: $0, among: members) }
    }

    @Test("every partition has exactly one owner", arguments: 1...5)
    func complete(_ count: Int) {
        let shares = shares(Array(owners.prefix(count)))
        #expect(shares.reduce(0) { $0 + $1.count } == 64)
        #expect(shares.reduce(into: Set<Int>()) { $0.formUnion($1) }.count == 64)
    }

    @Test("nobody goes without a share")
    func spread() {
        for share in shares(owners) { #expect((4...28).contains(share.count)) }
    }

    @Test("who comes takes from everybody; nobody else's share moves")
    func joining() {
        let before = shares(Array(owners.prefix(4)))
        let after = shares(owners)
        for (old, new) in zip(before, after) { #expect(new.isSubset(of: old)) }
    }

    @Test("somebody who is not on the list yet counts as on it")
    func unlisted() {
        let mine = Ownership.partitions(64, of: owners[0], among: Array(owners.dropFirst()))
        #expect(mine == shares(owners)[0])
    }
}
