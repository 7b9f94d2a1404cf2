import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PollerIdentity

/// A subscriber to one source over plain HTTP: by an event stream of a gateway, or by long polls of the API.
///
/// It runs on its connection's event loop, so a large number is cheap.
final class HTTPListener: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// The transport.
    enum Way: Sendable {
        /// `GET /v1/sources/{id}/events`, until it is closed.
        case stream
        /// `GET /v1/watches/{id}?wait=`, repeated after each response.
        case poll
    }

    /// A notification of a client.
    enum Notification: Sendable {
        /// The stream has caught up, or the first long poll is waiting.
        case waits
        /// The id of an event, or `nil` if the response does not contain it.
        case event(String?)
        /// An unexpected response.
        case unexpected(String)
    }

    private let watch: WatchKey
    private let way: Way
    private let onNotification: @Sendable (Notification) -> Void
    /// The last `seq` received, sent as `after_seq` by a long poll.
    private var seq = 0
    private var isWaiting = false
    /// The received part of the response or of the current message.
    private var text = ""

    private init(
        _ watch: WatchKey,
        _ way: Way,
        onNotification: @escaping @Sendable (Notification) -> Void
    ) {
        self.watch = watch
        self.way = way
        self.onNotification = onNotification
    }

    /// Connects and sends the request.
    static func connect(
        port: Int,
        to watch: WatchKey,
        by way: Way,
        onNotification: @escaping @Sendable (Notification) -> Void
    ) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(
                        HTTPListener(watch, way, onNotification: onNotification)
                    )
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    func channelActive(context: ChannelHandlerContext) { ask(context) }

    private func ask(_ context: ChannelHandlerContext) {
        let uri =
            switch way {
            case .stream: "/v1/sources/\(watch.source)/events?since=now&account=\(watch.account)"
            case .poll:
                "/v1/watches/\(watch.source)?account=\(watch.account)&after_seq=\(seq)&wait=50s"
            }
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: uri)
        head.headers.add(name: "host", value: "127.0.0.1")
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        // A request after the newest event is not answered before the next one.
        if way == .poll, seq > 0, !isWaiting {
            isWaiting = true
            onNotification(.waits)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            text = ""
            if head.status != .ok, head.status != .notModified {
                onNotification(.unexpected("HTTP \(head.status.code)"))
            }
        case .body(let part):
            text += String(buffer: part)
            if case .stream = way { readMessages() }
        case .end:
            guard case .poll = way else {
                return onNotification(.unexpected("the end of a stream"))
            }
            readAnswer()
            ask(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Processes complete messages, which end with an empty line.
    private func readMessages() {
        while let end = text.range(of: "\n\n") {
            let message = text[..<end.lowerBound]
            text = String(text[end.upperBound...])
            if message.contains("event: ready") {
                onNotification(.waits)
            } else if let id = Self.eventID(in: message) {
                onNotification(.event(id))
            }
        }
    }

    private func readAnswer() {
        guard let number = text.range(of: "\"seq\":") else { return }
        let newest = Int(text[number.upperBound...].prefix(while: \.isNumber)) ?? seq
        defer { seq = max(seq, newest) }
        // The first response is the current state.
        if newest > seq, isWaiting { onNotification(.event(nil)) }
    }

    private static func eventID(in text: Substring) -> String? {
        text.range(of: "\"id\":\"evt_").map {
            "evt_" + text[$0.upperBound...].prefix { $0 != "\"" }
        }
    }
}
