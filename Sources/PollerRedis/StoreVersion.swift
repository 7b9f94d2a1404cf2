package import Poller
package import RedisClient

/// Which programs can read a store: a number that grows when what is stored takes another form.
///
/// Nearly every change can be read by the release before it, since a letter never changes its meaning
/// (StoreSchema.swift). One that cannot raises `reader` in `<ns>layout`, in the command that makes it: a
/// program that knows less refuses to start, instead of misreading payments. That matters most when an old
/// program meets a new store by accident: a rollback too far, or a forgotten machine that comes back.
package enum StoreVersion {
    /// The newest form that this program reads.
    package static let current = 1

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
        let read = RedisCommand("HMGET", [.string(key), .string("reader"), .string("release")])
        let fields: [RedisValue]
        do throws(RedisError) {
            fields = try await client.send(read).array ?? []
        } catch {
            throw StoreError(error)
        }
        guard let stored = fields.first?.string else { return nil }
        guard let reader = Int(stored) else {
            throw .corrupt("\(key) holds no number in its field reader")
        }
        return reader > current ? TooNew(reader: reader, release: fields.last?.string) : nil
    }
}
