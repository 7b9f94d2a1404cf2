package import Poller
package import RedisClient
import SafeNumbers

/// Which programs can read a store: a number that grows when what is stored takes another form.
///
/// Nearly every change can be read by the release before it, since a letter never changes its meaning
/// (StoreSchema.swift). One that cannot raises `reader` in `<ns>layout`, in the command that makes it: a
/// program that knows less refuses to start, instead of misreading payments. That matters most when an old
/// program meets a new store by accident: a rollback too far, or a forgotten machine that comes back.
///
/// | form | since | what is stored otherwise |
/// |---|---|---|
/// | 1 | 0.1 | |
/// | 2 | 0.3 | events in logs and in the outbox are packed (``PackedEvent``) |
/// | 3 | 0.4 | events are in logs alone, what outlives their bodies is packed once more (``FoldedEvents``), and what is short of a watch is in its record (``ShortText``) |
///
/// A new store begins with the newest form. One that was there before keeps its own, so that two releases
/// may run side by side, until somebody says `pollerd migrate apply`. That they may is tried beside the kept
/// scripts of each release, on stores of its form (`SideBySideTests`): what fails there raises the form.
package enum StoreVersion {
    /// The newest form that this program reads and writes.
    package static let current = eventsOnce
    /// The form since which events are packed.
    static let packedEvents = 2
    /// The form since which events are stored once.
    static let eventsOnce = 3

    /// The first release that reads the newest form.
    package static let release = "0.4.0"

    /// In the layout of the store.
    static let field: RedisArgument = "reader"

    /// What is stored otherwise since a form, a line each.
    package static func changes(since form: Int) -> [String] {
        let changes = [
            packedEvents:
                "form 2: events are stored packed, an eighth of their size, and lose the upstream's object "
                + "some days after their watch has ended (body_retention)",
            eventsOnce:
                "form 3: events are stored once instead of twice, what is left of a payment after "
                + "body_retention takes half, and new watches with endpoints and metadata take two thirds",
        ]
        return changes.sorted { $0.key < $1.key }.filter { $0.key > form }.map(\.value)
    }

    /// Whether a program of a version, as processes tell it, reads the newest form.
    package static func isReadable(by version: String) -> Bool {
        func numbers(_ text: some StringProtocol) -> [Int] {
            text.prefix { $0.isNumber || $0 == "." }.split(separator: ".").map {
                Int(count: $0) ?? 0
            }
        }
        return !numbers(version).lexicographicallyPrecedes(numbers(release))
    }

    /// A store that this program must leave alone.
    package struct TooNew: Error, Hashable, CustomStringConvertible {
        /// The oldest form that its readers must know.
        package let reader: Int
        /// The release that has made it so, if it said.
        package let release: String?

        package var description: String {
            "the store has form \(reader), and this program reads up to \(current): start "
                + (release.map { "pollerd \($0) or newer" } ?? "a newer pollerd")
                + ", or give Redis the backup from before the upgrade"
        }
    }

    /// Refuses a store that only newer programs can read.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - namespace: as configured, without the colon.
    /// - Returns: why the store is to be left alone; nil when it can be read.
    /// - Throws: ``StoreError`` when Redis cannot be asked or holds something else at the key.
    package static func refusal(
        on client: RedisClient,
        namespace: String
    ) async throws(StoreError) -> TooNew? {
        let key = "\(namespace):layout"
        let read = RedisCommand("HMGET", [.string(key), field, "release"])
        let fields: [RedisValue]
        do throws(RedisError) {
            fields = try await client.send(read).array ?? []
        } catch {
            throw StoreError(error)
        }
        guard let stored = fields.first?.string else { return nil }
        guard let reader = Int(safe: stored) else {
            throw .corrupt("\(key) holds no number in its field reader")
        }
        return reader > current ? TooNew(reader: reader, release: fields.last?.string) : nil
    }

    /// Gives a store the newest form.
    ///
    /// From now on programs of former releases refuse it, and what is written by those that start is
    /// written so. What is stored already stays as it is.
    ///
    /// - Parameters:
    ///   - layout: the store.
    ///   - release: told to programs that are too old.
    ///   - client: the connection; it must be running.
    /// - Throws: ``StoreError`` when Redis cannot be asked.
    package static func raise(
        _ layout: StoreLayout,
        release: String,
        on client: RedisClient
    ) async throws(StoreError) {
        do throws(RedisError) {
            let key = RedisArgument.string("\(layout.namespace):layout")
            let values: [RedisArgument] = [
                field, RedisArgument(current), "release", .string(release),
            ]
            _ = try await client.send(RedisCommand("HSET", [key] + values))
        } catch {
            throw StoreError(error)
        }
    }

    /// The form of a store that nobody has used yet.
    static func begin(_ key: String, on client: RedisClient) async throws(RedisError) {
        _ = try await client.send(
            RedisCommand("HSETNX", [.string(key), field, RedisArgument(current)])
        )
    }
}
