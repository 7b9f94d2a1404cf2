import Logging
import NIOCore
import NIOPosix
import PollerTesting
import Synchronization
import Testing

@testable import RedisClient

@Suite(.timeLimit(.minutes(5))) struct RedisCommandLinkTests {
    @Test("a link that is stopped does not report its server as down")
    func stopped() async throws {
        let server = try RedisServerProcess()
        let url = try RedisURL(server.url)
        let endpoint = RedisEndpoint.tcp(host: "127.0.0.1", port: server.port)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let events = Mutex<[RedisLinkEvent]>([])
        let link = RedisCommandLink(
            link: RedisLink(
                handshake: RedisHandshake(login: url.login, clientName: nil),
                configuration: LiveRedis.patient,
                role: RedisLink.commandRole,
                eventLoop: eventLoop,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ),
            configuration: LiveRedis.patient,
            eventLoop: eventLoop,
            report: { event in events.withLock { $0.append(event) } }
        )
        let connector = try RedisConnector(
            url: url,
            configuration: LiveRedis.patient,
            onConnect: { _ in }
        )
        let finished = eventLoop.makePromise(of: Void.self)
        link.start(connector, locator: RedisFixedLocator(endpoint: endpoint), finished: finished)
        let replies = try await link.perform([RedisCommand("PING")]).get()
        #expect(replies.map(\.string) == ["PONG"])
        link.stop(graceful: true)
        try await finished.futureResult.get()
        // A Cluster may have another link to this server by now, whose state this one must not change.
        #expect(events.withLock(\.self) == [.ready(endpoint)])
    }
}
