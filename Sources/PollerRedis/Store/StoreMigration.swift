package import PollerQueue
package import RedisClient
import SafeNumbers

/// The commands of `pollerd migrate`, which raise a store to the newest format of a program (``StoreVersion``).
package struct StoreMigration: Sendable {
    /// The result of a command.
    package struct Report: Hashable, Sendable {
        /// The lines to print.
        package let lines: [String]
        /// Whether the store is, or may become, as the command intends.
        package let isSuccessful: Bool
    }

    private let client: RedisClient
    private let layout: StoreLayout
    private let members: any Membership
    private let version: StoreVersion

    /// Creates the migration of a store.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: the store.
    ///   - members: the processes that use it.
    ///   - version: the formats of this program, or those of a test.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        members: any Membership,
        version: StoreVersion = .live
    ) {
        (self.client, self.layout) = (client, layout)
        (self.members, self.version) = (members, version)
    }

    /// Lists the changes of ``apply()``, and the processes that cannot read the newest format; changes nothing.
    package func plan() async throws(StoreError) -> Report {
        guard isNeeded else { return Report(lines: [state], isSuccessful: true) }
        let older = try await older()
        let changes = steps.map { "  form \($0.form): \($0.change)" }
        let next =
            older.isEmpty ? "next: pollerd migrate apply" : "next: upgrade these, and ask again"
        return Report(lines: [state] + changes + older + [next], isSuccessful: older.isEmpty)
    }

    /// Raises the store to the newest format, unless a running process cannot read it.
    ///
    /// Processes that start later write it. Existing records are not rewritten.
    package func apply() async throws(StoreError) -> Report {
        guard isNeeded else { return Report(lines: [state], isSuccessful: true) }
        let older = try await older()
        guard older.isEmpty else { return Report(lines: older, isSuccessful: false) }
        let release = steps.last.map { [RedisArgument("release"), .string($0.release)] } ?? []
        let values = [StoreVersion.field, RedisArgument(version.current)] + release
        _ = try await client.execute(
            RedisCommand("HSET", [.string("\(layout.namespace):layout")] + values)
        )
        let next =
            "the store has form \(version.current) from now on; restart every process, one after the other, "
            + "then: pollerd migrate verify"
        return Report(lines: [next], isSuccessful: true)
    }

    /// Lists the processes that write an older format than the store has, because they were started before.
    package func verify() async throws(StoreError) -> Report {
        let behind = try await members.members().filter { $0.storeFormat < layout.form }
        let lines = behind.map {
            "started before, to be restarted: \($0.roles) on \($0.host), process \($0.pid)"
        }
        let isSuccessful = !isNeeded && behind.isEmpty
        return Report(
            lines: [state] + lines + (isSuccessful ? ["every process writes it"] : []),
            isSuccessful: isSuccessful
        )
    }

    private var isNeeded: Bool { layout.form < version.current }

    /// The steps that the store has not taken yet.
    private var steps: [StoreVersion.Step] { version.steps.filter { $0.form > layout.form } }

    private var state: String {
        "the store has form \(layout.form)"
            + (isNeeded ? "; this program writes up to \(version.current):" : ", the newest")
    }

    /// Returns the live processes that cannot read the newest format.
    private func older() async throws(StoreError) -> [String] {
        guard let release = steps.last?.release else { return [] }
        return try await members.members()
            .filter { Self.numbers($0.version).lexicographicallyPrecedes(Self.numbers(release)) }
            .map {
                "older, to be upgraded first: \($0.roles) on \($0.host), process \($0.pid), version \($0.version)"
            }
    }

    /// Returns the numbers of a version as processes announce it.
    private static func numbers(_ version: String) -> [Int] {
        version.prefix { $0.isNumber || $0 == "." }.split(separator: ".").map {
            Int(count: $0) ?? 0
        }
    }
}
