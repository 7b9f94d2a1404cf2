import Logging
import NIOCore

/// Asks the sentinels who the master is, and hears from them when it changes.
///
/// Before every connect all known sentinels are asked at once, and the answer with the highest
/// configuration epoch counts: one that has been cut off, or has just come back, knows an old
/// master, and the others outvote it. Whoever it is, the link then checks by `ROLE` that it is a
/// master indeed. Besides, one sentinel at a time is listened to for `+switch-master`, so that a
/// change is followed before the first command fails. Rejected: the first sentinel that answers, as
/// the guidelines for clients have it: cheaper by microseconds, and wrong with a stale sentinel.
///
/// `@unchecked Sendable`: state is confined to `eventLoop`.
final class RedisSentinels: RedisLocator, @unchecked Sendable {
    /// How many sentinels are remembered: far more than anybody runs.
    private static let sentinelsMax = 32

    /// Whether the sentinels are being asked now.
    private enum Phase {
        case idle
        case ready(RedisProbe)
        /// All are being asked, for everybody who wants to know meanwhile.
        case querying(RedisProbe, EventLoopFuture<RedisEndpoint>)
    }

    private let name: String
    private let login: RedisLogin?
    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let subscriptions: RedisPubSubLink
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

    /// Makes the sentinels reachable; any thread.
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

    /// Follows changes until stopped; `moved` is told the master that is right at the time.
    func watch(_ moved: @Sendable (RedisEndpoint) -> Void) async {
        for await event in subscriptions.subscribe([.channel("+switch-master")]) {
            switch event {
            case .message(_, _, let payload):
                // `name old-host old-port new-host new-port`
                let words = String(buffer: payload).split(separator: " ")
                guard words.first.map(String.init) == name else { continue }
            case .subscribed: break
            case .gap: continue
            }
            // What one sentinel says is checked with all; if none answers, the links will tell.
            if let master = try? await locate(on: eventLoop).get() { moved(master) }
        }
    }

    func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
        self.eventLoop.flatSubmit { self.query() }.hop(to: eventLoop)
    }

    /// Asks all, unless that is under way.
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
        for peer in understood.flatMap(\.peers) where known.count < Self.sentinelsMax {
            if !known.contains(peer) { known.append(peer) }
        }
        return best.master
    }

    /// Why no sentinel could say who the master is.
    private func failure(_ answers: [RedisProbe.Answer]) -> RedisLinkFailure {
        let queried = known.map(\.description).joined(separator: ", ")
        var reason: RedisLinkFailure?
        for answer in answers {
            switch answer.replies {
            case .failure(let failure): reason = failure
            case .success(let replies):
                guard let error = replies.first?.error else {
                    return RedisLinkFailure(
                        "no sentinel knows a master named \(name); asked: \(queried)",
                        remedy:
                            "correct the name at the end of the URL; SENTINEL MASTERS lists them"
                    )
                }
                reason = RedisHandshake.refused(error, isLogin: false)
                if error.code == "NOAUTH" || error.code == "NOPERM" {
                    return RedisLinkFailure(
                        "a sentinel refuses us: \(error)",
                        remedy: "put the sentinels' login after the master's in the URL:"
                            + " redis+sentinel://user:password@user:password@host:26379/NAME"
                    )
                }
            }
        }
        return RedisLinkFailure(
            "no sentinel answers; asked: \(queried); the last said: \(reason?.message ?? "nothing")",
            remedy: reason?.remedy ?? "check the addresses in the URL"
        )
    }

    /// The next sentinel to listen to.
    private func nextSentinel() -> RedisEndpoint {
        defer { nextIndex += 1 }
        return known[nextIndex % known.count]
    }

    /// Another sentinel at every attempt.
    private struct Rotation: RedisLocator {
        let sentinels: RedisSentinels

        func locate(on eventLoop: any EventLoop) -> EventLoopFuture<RedisEndpoint> {
            sentinels.eventLoop.submit { sentinels.nextSentinel() }.hop(to: eventLoop)
        }
    }
}

/// What one sentinel knows about a master.
struct RedisSentinelReply: Hashable {
    /// The server it calls the master.
    let master: RedisEndpoint
    /// How new its knowledge is: each failover has a higher one; 0 if it may not tell.
    let epoch: Int
    /// The other sentinels it knows.
    let peers: [RedisEndpoint]

    /// What to ask.
    static func commands(_ name: String) -> [RedisCommand] {
        [
            // During a failover this names the new master before SENTINEL MASTER does.
            RedisCommand("SENTINEL", ["get-master-addr-by-name", .string(name)]),
            RedisCommand("SENTINEL", ["MASTER", .string(name)]),
            RedisCommand("SENTINEL", ["SENTINELS", .string(name)]),
        ]
    }

    /// Reads the replies of `sentinel`; `nil` if it does not know the name.
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
        self.peers = (replies[2].array ?? []).compactMap { peer in
            let fields = Self.fields(peer)
            return endpoint(fields["ip"]?.string, fields["port"]?.int)
        }
    }

    /// The newest answer; of equally new ones the one that most give.
    static func best(of answers: [RedisSentinelReply]) -> RedisSentinelReply? {
        func votes(_ answer: RedisSentinelReply) -> Int {
            answers.count { $0.epoch == answer.epoch && $0.master == answer.master }
        }
        return answers.max { ($0.epoch, votes($0)) < ($1.epoch, votes($1)) }
    }

    /// Pairs up a flat array of names and values.
    private static func fields(_ reply: RedisValue) -> [String: RedisValue] {
        let flat = reply.array ?? []
        var fields: [String: RedisValue] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            if let name = flat[index].string { fields[name] = flat[index + 1] }
        }
        return fields
    }
}
