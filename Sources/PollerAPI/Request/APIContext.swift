import Hummingbird
import Logging
import NIOCore
import PollerIdentity
import PollerNet
import PollerOperations
import PollerWatches

/// The context of a request: its ID, its logger, and its connection.
struct APIContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The request ID, as in the logger.
    ///
    /// The framework's `id` traps under a log handler that stores no metadata.
    let requestID: String
    /// The caller; a stranger on public routes.
    var caller = Caller.unauthenticated
    /// The text of the caller's key, from `Authorization` or the cookie of the console.
    ///
    /// Empty if the request needs no key.
    var presentedKey = ""
    /// Throws if the caller's key is no longer valid.
    ///
    /// Called again after time has passed.
    var recheck: @Sendable () throws(Problem) -> Void = {}
    /// Returns a stream that ends when the caller's key is revoked.
    var revocation: @Sendable () -> AsyncStream<Void>? = { nil }
    /// Encrypts cursors for the caller.
    ///
    /// The default is never used.
    var cursors = SealedCursors.ephemeral
    /// Records changes; `nil` without an audit trail.
    var audit: RequestAudit?
    /// The seed of an idempotent request, the same for each execution, also after a crash (``IdempotencyMiddleware``).
    ///
    /// `nil` for a request without a name, or whose name is not stored.
    var seed: String?
    let changes = RequestChanges()
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.logger[metadataKey: "hb.request.id"]?.description ?? "\(RequestID())"
        channel = source.channel
    }

    /// The identity of the request for long polls: the key, and the address of the client or of the last proxy.
    var waiter: LongPolls.Waiter {
        LongPolls.Waiter(
            key: caller == .local ? nil : caller.name,
            address: channel.remoteAddress.flatMap(IPAddress.init),
            revocation: revocation,
            recheck: recheck
        )
    }

    /// Returns whether the address of the client, or of the last proxy, is in one of these ranges.
    func isConnected(from ranges: [AddressRange]) -> Bool {
        guard let address = channel.remoteAddress.flatMap(IPAddress.init) else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The address of the client or of the last proxy.
    ///
    /// Header values are not trusted.
    var peer: String? { channel.remoteAddress?.ipAddress }

    /// Records the caller's action as a note of a watch.
    func note(_ deed: String, on key: WatchKey, in watches: any WatchStore) async {
        await watches.tryToNote(WatchNote(deed: deed, by: caller.actor, of: key), of: key)
    }

    /// Closes the connection in two seconds, even if the client is still sending.
    ///
    /// For responses sent before the body was read. The client has time to read the response, and cannot make the
    /// server receive gigabytes.
    func closeSoon() {
        let channel = channel
        channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
    }
}
