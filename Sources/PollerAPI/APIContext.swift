import Hummingbird
import Logging
import NIOCore
import PollerNet

/// What a request carries along: its id, its logger, and the connection it came on.
struct APIContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The id the logger carries.
    ///
    /// The framework's own `id` traps under a log handler that keeps no metadata.
    let requestID: String
    /// The name of the key that was shown; nil where none is needed.
    var key: String?
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.logger[metadataKey: "hb.request.id"]?.description ?? "\(RequestID())"
        channel = source.channel
    }

    /// Who sends the request: a client, or the last proxy before us.
    var waiter: LongPolls.Waiter {
        LongPolls.Waiter(key: key, address: channel.remoteAddress.flatMap(IPAddress.init))
    }

    /// Closes the connection two seconds from now, whatever the client still sends.
    ///
    /// For answers given before the body was read: the client has time to read the answer, and
    /// nobody can make us swallow gigabytes.
    func closeSoon() {
        let channel = channel
        channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
    }
}
