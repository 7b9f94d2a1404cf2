import Poller

/// The processes that have announced themselves to an in-memory store.
struct MemoryMembers: Sendable {
    private var announced: [OwnerID: (member: Member, until: Timestamp)] = [:]

    /// Announces a process until an instant, instead of what it announced before.
    mutating func beat(_ member: Member, until: Timestamp) {
        announced[member.owner] = (member, until)
    }

    /// Takes a process off the list.
    mutating func leave(_ owner: OwnerID) {
        announced[owner] = nil
    }

    /// All whose span has not passed.
    func present(_ now: Timestamp) -> [Member] {
        announced.values.filter { $0.until > now }.map(\.member)
    }
}
