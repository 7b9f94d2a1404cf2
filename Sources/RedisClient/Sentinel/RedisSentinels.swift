import Logging
import NIOCore

/// Queries the sentinels for the master and subscribes to its changes.
///
/// Before every connection attempt all known sentinels are queried at once, and the answer with the
/// highest configuration epoch is used. A sentinel that was disconnected, or has just recovered,
/// knows an old master, and the others outvote it. The link then checks by `ROLE` that the server
/// is really a master. In addition, the client subscribes to `+switch-master` at one sentinel at a
/// time, so that it follows a change before the first command fails. Rejected: using the first
/// sentinel that replies, as the client guidelines recommend. It saves microseconds and is wrong
/// with a stale sentinel.
///
/// `@unchecked Sendable`: state is confined to `eventLoop`.
final class RedisSentinels: RedisLocator, @unchecked Sendable {
    /// The most sentinels that are remembered, far more than any deployment has.
    private static let sentinelsMax = 32

    /// Whether the sentinels are being queried now.
    private enum Phase {
        case idle
        case ready(RedisProbe)
        /// All are being queried; callers that arrive meanwhile share the result.
        case querying(RedisProbe, EventLoopFuture<RedisEndpoint>)
    }

    private let name: String
    private let login: RedisLogin?
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let subscriptions: RedisPubSubLink
    /// The sentinels that the URL names.
    private let configured: [RedisEndpoint]
    /// The sentinels to query: the configured ones, those that answered the last query, and those
    /// that they named.
    ///
    /// A sentinel that was removed is thus forgotten as soon as the others have forgotten it.
    private var known: [RedisEndpoint]
    private var phase = Phase.idle
    private var nextIndex = 0

    init(
        endpoints: [RedisEndpoint],
        name: String,
        login: RedisLogin?,
        configuration: RedisConfiguration,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.configured = endpoints
        self.known = endpoints
        self.name = name
        self.login = login
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.subscriptions = RedisPubSubLink(
            link: RedisLink(
                handshake: RedisHandshake(login: login, clientName: configuration.clientName),
                configuration: configuration,
                role: "sentinel",
                eventLoop: eventLoop,
                logger: logger
            ),
            configuration: configuration,
            eventLoop: eventLoop,
            logger: logger
        )
    }

    /// Makes the sentinels usable; any thread.
    func start(_ connector: RedisConnector) {
        eventLoop.execute {
            self.phase = .ready(
                RedisProbe(
                    connector: connector,
                    login: self.login,
                    configuration: self.configuration
                )
            )
        }
        let rotation = Rotation(sentinels: self)
        let finished = eventLoop.makePromise(of: Void.self)
        subscriptions.start(connector, locator: rotation, finished: finished)
    }

    /// Ends ``watch(_:)``; any thread.
    func stop() {
        subscriptions.stop()
    }

    /// Follows changes until stopped; calls `moved` with the current master.
    func watch(_ moved: @escaping @Sendable (RedisEndpoint) -> Void) async {
        for await event in subscriptions.subscribe([.channel("+switch-master")]) {
            switch event {
            case .message(_, _, let payload):
                // `name old-host old-port new-host new-port`
                let words = String(buffer: payload).split(separator: " ")
                guard words.first.map(String.init) == name else { continue }
            case .subscribed: break
            case .gap: continue
            }
            // One sentinel's message is verified with all of them. If none replies, the links
            // report it. The answer is not awaited, or the end would wait for silent sentinels.
            locateAfresh().whenSuccess(moved)
        }
    }

    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
        self.eventLoop.flatSubmit { self.query() }.hop(to: eventLoop)
    }

    /// Returns the master by a query that begins after this call.
    ///
    /// A query in progress may have been answered before the change that was just announced.
    func locateAfresh() -> EventLoopFuture<RedisEndpoint> {
        eventLoop.flatSubmit {
            guard case .querying(_, let answer) = self.phase else { return self.query() }
            return answer.map { _ in }.recover { _ in }.flatMap { self.query() }
        }
    }

    /// Queries all sentinels, or joins a query in progress.
    private func query() -> EventLoopFuture<RedisEndpoint> {
        let probe: RedisProbe
        switch phase {
        case .idle: return eventLoop.makeFailedFuture(RedisLinkFailure.shutDown)
        case .querying(_, let answer): return answer
        case .ready(let known): probe = known
        }
        let answer = probe.query(
            RedisSentinelReply.commands(name),
            of: known,
            on: eventLoop
        ) { replies in
            replies.first?.array != nil
        }
        .flatMapThrowing { try self.choose($0) }
        phase = .querying(probe, answer)
        answer.whenComplete { _ in self.phase = .ready(probe) }
        return answer
    }

    private func choose(_ answers: [RedisProbe.Answer]) throws -> RedisEndpoint {
        let understood = answers.compactMap { answer in
            (try? answer.replies.get()).flatMap { RedisSentinelReply($0, from: answer.endpoint) }
        }
        guard let best = RedisSentinelReply.best(of: understood) else { throw failure(answers) }
        known = configured
        for sentinel in understood.flatMap(\.sentinels)
        where known.count < Self.sentinelsMax && !known.contains(sentinel) {
            known.append(sentinel)
        }
        return best.master
    }

    /// Returns why no sentinel could name the master.
    private func failure(_ answers: [RedisProbe.Answer]) -> RedisLinkFailure {
        let queried = known.map(\.description).joined(separator: ", ")
        var reason: RedisLinkFailure?
        for answer in answers {
            switch answer.replies {
            case .failure(let failure): reason = failure
            case .success(let replies):
                guard let error = replies.first?.error else {
                    return RedisLinkFailure(
                        "no sentinel knows a master named \(name); queried: \(queried)",
                        remedy:
                            "correct the name at the end of the URL; SENTINEL MASTERS lists them"
                    )
                }
                reason = RedisHandshake.refused(error, isLogin: false)
                if error.code == "NOAUTH" || error.code == "NOPERM" {
                    return RedisLinkFailure(
                        "a sentinel rejected the login: \(error)",
                        remedy: "put the sentinels' login after the master's in the URL:"
                            + " redis+sentinel://user:password@user:password@host:26379/NAME"
                    )
                }
            }
        }
        return RedisLinkFailure(
            "no sentinel answers; queried: \(queried); last error: \(reason?.message ?? "none")",
            remedy: reason?.remedy ?? "check the addresses in the URL"
        )
    }

    /// Returns the next sentinel to subscribe at.
    private func nextSentinel() -> RedisEndpoint {
        defer { nextIndex += 1 }
        return known[nextIndex % known.count]
    }

    /// Selects another sentinel at every attempt.
    private struct Rotation: RedisLocator {
        let sentinels: RedisSentinels

        func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
            sentinels.eventLoop.submit { sentinels.nextSentinel() }.hop(to: eventLoop)
        }
    }
}

/// One sentinel's knowledge of a master.
struct RedisSentinelReply: Hashable {
    /// The server that it considers the master.
    let master: RedisEndpoint
    /// The configuration epoch: each failover has a higher one; 0 if the sentinel may not return
    /// it.
    let epoch: Int
    /// The sentinel itself and the others that it knows.
    let sentinels: [RedisEndpoint]

    /// The commands that read this knowledge.
    static func commands(_ name: String) -> [RedisCommand] {
        [
            // During a failover this returns the new master before SENTINEL MASTER does.
            RedisCommand("SENTINEL", ["get-master-addr-by-name", .string(name)]),
            RedisCommand("SENTINEL", ["MASTER", .string(name)]),
            RedisCommand("SENTINEL", ["SENTINELS", .string(name)]),
        ]
    }

    /// Parses the replies of `sentinel`; `nil` if it does not know the name.
    init?(_ replies: [RedisValue], from sentinel: RedisEndpoint) {
        func endpoint(_ host: String?, _ port: Int?) -> RedisEndpoint? {
            guard let host, !host.isEmpty, let port, (1...65_535).contains(port) else { return nil }
            return RedisEndpoint(host: host, port: port, isEncrypted: sentinel.isEncrypted)
        }
        guard replies.count == 3, let address = replies[0].array, address.count == 2,
            let master = endpoint(address[0].string, address[1].int)
        else { return nil }
        self.master = master
        self.epoch = Self.fields(replies[1])["config-epoch"]?.int ?? 0
        let peers = (replies[2].array ?? []).compactMap { peer in
            let fields = Self.fields(peer)
            return endpoint(fields["ip"]?.string, fields["port"]?.int)
        }
        self.sentinels = [sentinel] + peers
    }

    /// Returns the newest reply; of equally new ones, the most frequent.
    static func best(of answers: [RedisSentinelReply]) -> RedisSentinelReply? {
        func votes(_ answer: RedisSentinelReply) -> Int {
            answers.count { $0.epoch == answer.epoch && $0.master == answer.master }
        }
        return answers.max { ($0.epoch, votes($0)) < ($1.epoch, votes($1)) }
    }

    /// Converts a flat array of names and values into a dictionary.
    private static func fields(_ reply: RedisValue) -> [String: RedisValue] {
        let flat = reply.array ?? []
        var fields: [String: RedisValue] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            if let name = flat[index].string { fields[name] = flat[index + 1] }
        }
        return fields
    }
}
