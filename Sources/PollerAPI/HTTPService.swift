import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// Runs a router on a bounded HTTP/1.1 server; both listeners are made here.
struct HTTPService {
    /// A connection costs a file descriptor and some 30 KiB; 10,000 fit a usual limit.
    private static let connectionsMax = 10_000
    private static let headerBytesMax = 16_384
    private static let headersMax = 64
    /// Longer than the longest long poll, so no proxy or client races with it.
    private static let idleTimeout = TimeAmount.seconds(75)

    let bind: ListenAddress
    /// The option that names the address, for the error when it cannot be had.
    let option: String
    let logger: Logger
    let onBound: @Sendable (ListenAddress) -> Void

    func run(_ router: Router<APIContext>) async throws {
        let application = Application(
            router: router,
            server: .http1(
                configuration: .init(
                    idleTimeout: Self.idleTimeout,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Self.headerBytesMax,
                        maxHeaderListSize: Self.headerBytesMax,
                        maxHeaderFieldCount: Self.headersMax
                    )
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(bind.host, port: bind.port),
                availableConnectionsDelegate: .maximum(Self.connectionsMax, logger: logger)
            ),
            onServerRunning: { [bind, onBound] channel in
                let port = channel.localAddress?.port ?? bind.port
                onBound(ListenAddress(host: bind.host, port: port))
            },
            logger: logger
        )
        do {
            try await application.run()
        } catch {
            throw ListenError(error, at: bind, option: option) ?? error
        }
    }
}
