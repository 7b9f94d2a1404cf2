import NIOCore
import NIOPosix

extension SMTPRelay {
    /// Connects to the relay and lets go again, to tell whether it can be reached at all.
    ///
    /// Says nothing to it: a relay may count greetings against us. Throws what the connection
    /// attempt threw, within 5 s.
    package func probe() async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5))
            .connect(host: host, port: port)
            .get()
        try await channel.close()
    }
}
