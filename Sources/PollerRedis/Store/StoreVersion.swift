package import PollerQueue
package import RedisClient
import SafeNumbers

/// The store formats that a program reads and writes.
///
/// The previous release can read nearly every change of a record, since a letter never changes its meaning
/// (StoreSchema.swift). A change that it cannot read is a ``Step``: it raises `format` in `<ns>layout`. A program that
/// does not know this format refuses to start, instead of misreading payments. That matters most when an old program
/// meets a new store by accident: after a rollback too far, or on a forgotten machine that is started again.
///
/// | form | since | change |
/// |---|---|---|
/// | 1 | 1.0.0 | |
///
/// A new store begins with the newest format. An existing store keeps its format, so that two releases may run
/// together, until an operator runs `pollerd migrate apply`. `MixedVersionTests` runs today's scripts together with the
/// kept scripts of each release, on stores of its format: a change that fails there needs a step.
package struct StoreVersion: Hashable, Sendable {
    /// A change of records that earlier releases cannot read.
    package struct Step: Hashable, Sendable {
        /// The format of a store after this step.
        let form: Int
        /// The first release that reads this format.
        let release: String
        /// The difference from the previous format, in one line.
        let change: String
    }

    /// The formats of this program.
    package static let live = StoreVersion(steps: [])

    /// The oldest format that the program reads.
    var oldest = 1
    /// The newer formats that it reads and writes, in their order.
    let steps: [Step]

    /// The newest format that the program reads and writes.
    package var current: Int { steps.last?.form ?? oldest }

    /// The field in the layout of the store.
    ///
    /// No build before the first release used this name, so ``refusal(on:namespace:)`` recognises their stores.
    static let field: RedisArgument = "format"

    /// The reason why this program must not use a store.
    package enum Refusal: Error, Hashable, CustomStringConvertible {
        /// Only newer programs read it; with the release that raised the format, if it is known.
        case tooNew(form: Int, readable: Int, release: String?)
        /// This program no longer reads its format.
        case tooOld(form: Int, readable: Int)
        /// It has partitions and no format: it was made by a build from before the first release.
        case unreleased

        package var description: String {
            switch self {
            case .tooNew(let form, let readable, let release):
                "the store has form \(form), and this program reads up to \(readable): start "
                    + (release.map { "pollerd \($0) or newer" } ?? "a newer pollerd")
                    + ", or give Redis the backup from before the upgrade"
            case .tooOld(let form, let readable):
                "the store has form \(form), and this program reads no form before \(readable): run pollerd "
                    + "migrate apply of the release that was used last, restart its processes, then upgrade"
            case .unreleased:
                "the store was made by a build from before release 1.0.0, and no release reads it: stop every "
                    + "process of that build and empty this database, or set POLLER_REDIS_URL or POLLER_NAMESPACE to another one"
            }
        }
    }

    /// Checks that this program reads the format of a store.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - namespace: as configured, without the colon.
    /// - Returns: why the store must not be used; `nil` if it can be read.
    /// - Throws: ``StoreError`` if Redis is unavailable or holds another value at the key.
    package func refusal(
        on client: RedisClient,
        namespace: String
    ) async throws(StoreError) -> Refusal? {
        let key = "\(namespace):layout"
        let read = RedisCommand(
            "HMGET",
            [.string(key), Self.field, "release", .string(StoreLayout.partitionsField)]
        )
        let fields = try await client.execute(read).array ?? []
        guard fields.count == 3 else { throw .corrupt("\(key) holds no layout") }
        guard let stored = fields[0].string else { return fields[2].isNull ? nil : .unreleased }
        guard let form = Int(safe: stored) else {
            throw .corrupt("\(key) holds no number in its field format")
        }
        if form < oldest { return .tooOld(form: form, readable: oldest) }
        guard form > current else { return nil }
        return .tooNew(form: form, readable: current, release: fields[1].string)
    }

    /// Sets the format of a store that has not been used yet.
    static func begin(_ key: String, on client: RedisClient) async throws(RedisError) {
        _ = try await client.send(
            RedisCommand("HSETNX", [.string(key), field, RedisArgument(live.current)])
        )
    }
}
