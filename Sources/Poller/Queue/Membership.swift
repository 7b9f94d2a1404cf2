/// Who works on this cluster right now.
///
/// A hint for efficiency, never for safety: who is missing here for a moment may work, and who
/// is listed may be gone. Only leases decide.
package protocol Membership: Sendable {
    /// Announces a process for `span` and returns all that are announced, in no order.
    func beat(_ member: Member, for span: Duration) async throws(StoreError) -> [Member]

    /// Takes a process off the list at once, as one that drains does.
    func leave(_ owner: OwnerID) async throws(StoreError)

    /// All that are announced, in no order.
    func members() async throws(StoreError) -> [Member]
}

/// A process as it announces itself.
package struct Member: Hashable, Sendable {
    package let owner: OwnerID
    /// `worker`, `notifier`, `api`, joined by commas.
    package let roles: String
    /// The operating system's process id, for the operator.
    package let pid: Int
    /// Host name, for the operator.
    package let host: String
    package let version: String
    package let startedAt: Timestamp
    /// Items in its hands when it announced itself last.
    package var inFlight: Int

    /// Describes a process.
    package init(
        owner: OwnerID,
        roles: String,
        pid: Int,
        host: String,
        version: String,
        startedAt: Timestamp,
        inFlight: Int
    ) {
        self.owner = owner
        self.roles = roles
        self.pid = pid
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.inFlight = inFlight
    }
}
