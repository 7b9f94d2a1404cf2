/// Where and how the live gateway listens.
package struct GatewayConfiguration: Sendable {
    /// Live connections of one process; each costs a socket and some kilobytes.
    package static let connectionsMax = 20_000
    /// The longest span goodbyes are spread over (delivery FACTS §4).
    package static let drainSpreadMax = Duration.seconds(30)

    package let host: String
    /// 0 takes a free port.
    package let port: Int
    /// Signs cursors; the same in every gateway of a cluster, at least 16 bytes.
    package let cursorSecret: [UInt8]
    /// What `Origin` a browser may come with, such as `https://shop.example`.
    package let allowedOrigins: Set<String>
    package let limits: GatewayLimits
    /// The span in which this process must be gone once it is asked to.
    package let drainTimeout: Duration

    /// Describes a gateway.
    package init(
        host: String,
        port: Int,
        cursorSecret: [UInt8],
        allowedOrigins: Set<String> = [],
        limits: GatewayLimits = GatewayLimits(),
        drainTimeout: Duration = .seconds(25)
    ) {
        precondition(cursorSecret.count >= 16, "fewer bytes can be guessed")
        self.host = host
        self.port = port
        self.cursorSecret = cursorSecret
        self.allowedOrigins = allowedOrigins
        self.limits = limits
        self.drainTimeout = drainTimeout
    }

    /// Goodbyes at a drain are spread over this span; what remains is for the last close frames.
    var drainSpread: Duration {
        min(max(drainTimeout - limits.closeTimeout * 2, .zero), Self.drainSpreadMax)
    }
}
