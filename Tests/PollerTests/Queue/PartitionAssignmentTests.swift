import Testing

@testable import PollerQueue

@Suite("PartitionAssignment")
struct PartitionAssignmentTests {
    let owners = (0..<5).map { OwnerID(unchecked: "owner-\($0)") }

    func assignments(_ members: [OwnerID], partitions: Int = 64) -> [Set<Int>] {
        members.map { PartitionAssignment(of: $0, among: members, partitions: partitions).owned }
    }

    @Test("every partition has exactly one owner", arguments: 1...5)
    func complete(_ count: Int) {
        let assignments = assignments(Array(owners.prefix(count)))
        #expect(assignments.reduce(0) { $0 + $1.count } == 64)
        #expect(assignments.reduce(into: Set<Int>()) { $0.formUnion($1) }.count == 64)
    }

    @Test("every process owns partitions")
    func spread() {
        for assignment in assignments(owners) { #expect((4...28).contains(assignment.count)) }
    }

    @Test("a new process takes partitions from the others, and no other partition changes owner")
    func joining() {
        let before = assignments(Array(owners.prefix(4)))
        let after = assignments(owners)
        for (old, new) in zip(before, after) { #expect(new.isSubset(of: old)) }
    }

    @Test("a process that is not in the list yet is counted as a member")
    func unlisted() {
        let rest = Array(owners.dropFirst())
        let mine = PartitionAssignment(of: owners[0], among: rest, partitions: 64).owned
        #expect(mine == assignments(owners)[0])
    }

    @Test("the ranks of a partition are distinct")
    func ranks() {
        let assignments = owners.map { PartitionAssignment(of: $0, among: owners, partitions: 64) }
        for partition in 0..<64 {
            #expect(assignments.map { $0.ranks[partition] }.sorted() == [0, 1, 2, 3, 4])
        }
    }

    @Test("clamped ranks go no lower than a helper's, for processes with different capabilities")
    func clamped() {
        let assignment = PartitionAssignment(of: owners[2], among: owners, partitions: 64)
        #expect(assignment.ranks.contains(4))
        #expect(assignment.clamped().ranks == assignment.ranks.map { min($0, 2) })
        #expect(assignment.clamped().owned == assignment.owned)
    }

    @Test("every release computes the same owners")
    func agreed() {
        let assignment = PartitionAssignment(of: owners[2], among: owners, partitions: 16)
        #expect(assignment.owned == [6])
    }
}
