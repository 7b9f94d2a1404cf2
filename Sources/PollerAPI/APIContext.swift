import Hummingbird
import Logging
import NIOCore

/// What a request carries along: its id, its logger, and the connection it came on.
struct APIContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The id the logger carries.
    ///
    /// The framework's own `id` traps under a log handler that keeps no metadata.
    let requestID: String
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        requestID = source.logger[metadataKey: "hb.request.id"]?.description ?? "\(RequestID())"
        channel = source.channel
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
