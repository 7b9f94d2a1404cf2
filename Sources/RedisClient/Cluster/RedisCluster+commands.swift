import NIOCore
import SafeNumbers
import Synchronization

extension RedisCluster {
    /// How often a command may be redirected.
    ///
    /// A slot that moves twice needs four; more means that the nodes disagree, which only time
    /// resolves.
    private static let redirectionsMax = 16
    /// The redirections that are followed at once; later ones wait, doubling from 10 ms.
    private static let immediateRedirectionsMax = 4

    func perform(
        _ batch: RedisBatch,
        _ durability: RedisDurability?
    ) async -> RedisRequest.Outcome {
        let slot = batch.slot
        var target = Target.owner
        var redirections = 0
        while true {
            let (node, endpoint): (RedisNode, RedisEndpoint)
            switch find(slot, target) {
            case .node(let found, let address): (node, endpoint) = (found, address)
            case .unknown:
                if case .failure(let error) = await waitForMap() { return .failure(error) }
                continue
            case .unserved(let slot):
                refresh.request()
                return .success(batch.refused(Self.unserved(slot)))
            case .closed: return .failure(.closed)
            }
            let isImporting = if case .importing = target { true } else { false }
            let commands = isImporting ? batch.asking : batch.commands
            var outcome = await node.perform(commands, durability)
            if isImporting { outcome = outcome.map { batch.withoutAsking($0) } }
            guard let next = self.next(after: outcome, of: batch, at: endpoint) else {
                return outcome
            }
            guard redirections < Self.redirectionsMax else {
                return outcome.map { _ in batch.refused(Self.unresolved) }
            }
            redirections += 1
            if redirections > Self.immediateRedirectionsMax {
                let pause = Duration.milliseconds(
                    10 << (redirections - Self.immediateRedirectionsMax - 1)
                )
                guard (try? await Task.sleep(for: min(pause, .milliseconds(200)))) != nil else {
                    return .failure(.cancelled)
                }
            }
            target = next
        }
    }

    func pipeline(_ commands: [RedisCommand]) async -> RedisRequest.Outcome {
        let batches = commands.map { RedisBatch([$0]) }
        var replies = [RedisValue?](repeating: nil, count: commands.count)
        switch await performTogether(batches) {
        case .failure(let error): return .failure(error)
        case .success(let answered): for (index, reply) in answered { replies[index] = reply }
        }
        // Commands that were not executed are routed separately, in order.
        for index in replies.indices where replies[index] == nil {
            switch await perform(batches[index], nil) {
            case .failure(let error):
                let isPartial = replies.contains { $0 != nil }
                return .failure(isPartial ? error.ofPart : error)
            // Safe: every command of a batch has a reply.
            case .success(let batchReplies): replies[index] = batchReplies[0]
            }
        }
        return .success(replies.map { $0 ?? .null })
    }

    func performOnMasters(
        _ command: RedisCommand
    ) async -> Result<[RedisNodeReply], RedisError> {
        if state.withLock({ $0.map == nil }) {
            if case .failure(let error) = await waitForMap() { return .failure(error) }
        }
        let masters = state.withLock { $0.map?.masters ?? [] }
        return await withTaskGroup { group in
            for endpoint in masters {
                guard case .node(let node, _) = find(nil, .node(endpoint)) else { continue }
                // All masters at once; each ends with the command's timeout.
                group.addTask { await (endpoint, node.perform([command], nil)) }
            }
            var replies: [RedisNodeReply] = []
            var failures: [RedisError] = []
            for await (endpoint, outcome) in group {
                switch outcome {
                case .failure(let error): failures.append(error)
                case .success(let nodeReplies):
                    // Safe: every command of a batch has a reply.
                    replies.append(RedisNodeReply(node: endpoint, reply: nodeReplies[0]))
                }
            }
            if let error = Self.error(of: failures, isPartial: !replies.isEmpty) {
                return .failure(error)
            }
            return replies.isEmpty ? .failure(.closed) : .success(replies)
        }
    }

    /// Sends each node its part in one pipeline.
    ///
    /// Commands that were not executed are missing from the result.
    private func performTogether(
        _ batches: [RedisBatch]
    ) async -> Result<[(Int, RedisValue)], RedisError> {
        typealias Part = (node: RedisNode, endpoint: RedisEndpoint, indices: [Int])
        var parts: [RedisEndpoint: Part] = [:]
        for (index, batch) in batches.enumerated() {
            guard case .node(let node, let endpoint) = find(batch.slot, .owner) else { continue }
            parts[endpoint, default: (node, endpoint, [])].indices.append(index)
        }
        return await withTaskGroup { group in
            for part in parts.values {
                // All nodes at once; each ends with the commands' timeout.
                group.addTask {
                    // Safe: each batch has one command here.
                    let commands = part.indices.map { batches[$0].commands[0] }
                    return await (part, part.node.perform(commands, nil))
                }
            }
            var answered: [(Int, RedisValue)] = []
            var failures: [RedisError] = []
            for await (part, outcome) in group {
                switch outcome {
                case .failure(.closed): continue
                case .failure(let error): failures.append(error)
                case .success(let replies):
                    for (index, reply) in zip(part.indices, replies) {
                        let outcome = RedisRequest.Outcome.success([reply])
                        if next(after: outcome, of: batches[index], at: part.endpoint) == nil {
                            answered.append((index, reply))
                        }
                    }
                }
            }
            if let error = Self.error(of: failures, isPartial: !answered.isEmpty) {
                return .failure(error)
            }
            return .success(answered)
        }
    }

    /// Returns the error of calls to several nodes, of which some failed; `nil` if none did.
    ///
    /// `isPartial`: others were executed.
    private static func error(of failures: [RedisError], isPartial: Bool) -> RedisError? {
        guard let first = failures.first else { return nil }
        let isSame = failures.allSatisfy { $0 == first }
        return isSame && !isPartial ? first : first.ofPart
    }

    /// Returns where to send commands that `endpoint` did not execute; `nil` if this is their
    /// outcome.
    private func next(
        after outcome: RedisRequest.Outcome,
        of batch: RedisBatch,
        at endpoint: RedisEndpoint
    ) -> Target? {
        switch outcome {
        // The node was removed before the commands were written.
        case .failure(.closed): return .owner
        case .failure(.timedOut), .failure(.connectionLost):
            // The other nodes may have declared this one failed.
            refresh.request()
            return nil
        case .failure: return nil
        case .success(let replies):
            guard case .error(let error) = replies[batch.routedIndex] else { return nil }
            if error.kind.isWrongServer { refresh.request() }
            switch RedisRedirect(error, from: endpoint) {
            case nil: return nil
            case .moved(let slot, let node):
                state.withLock { $0.map?.move(slot, to: node) }
                refresh.request()
                return .node(node)
            case .ask(let node): return .importing(node)
            case .unknown:
                // Another node may know it.
                refresh.request()
                return .owner
            }
        }
    }

    /// Waits for the first map as long as a command may take.
    private func waitForMap() async -> RedisWaiter<Void>.Outcome {
        let observer = RedisWaiter<Void>()
        add(observer)
        defer { remove(observer) }
        return await observer.wait(timeout: configuration.commandTimeout, on: eventLoop)
    }

    private static func unserved(_ slot: Int) -> RedisReplyError {
        RedisReplyError(code: "CLUSTERDOWN", message: "no node serves hash slot \(slot)")
    }

    private static var unresolved: RedisReplyError {
        RedisReplyError(code: "CLUSTERDOWN", message: "the nodes redirect a hash slot in circles")
    }
}

extension RedisError {
    /// The error of several calls of which one failed with this error, and others may have been
    /// executed.
    fileprivate var ofPart: RedisError {
        switch self {
        case .notConnected, .tooManyCommandsInFlight, .closed: .connectionLost(maybeExecuted: true)
        case .connectionLost, .timedOut, .cancelled, .replyTooLarge, .protocolError, .reply: self
        }
    }
}

/// A node's reply that another node serves the slot.
enum RedisRedirect: Hashable {
    /// Permanently: `MOVED slot host:port`.
    case moved(slot: Int, to: RedisEndpoint)
    /// For this command only, while the slot moves: `ASK slot host:port`.
    case ask(RedisEndpoint)
    /// To a node that the replying one cannot name: `MOVED slot ?:port`.
    ///
    /// Nodes are named by host names (`cluster-preferred-endpoint-type`), and this one has none.
    case unknown

    /// Parses an error reply of `node`; `nil` if it is another error.
    ///
    /// An empty host is that of the replying node (`unknown-endpoint`).
    init?(_ error: RedisReplyError, from node: RedisEndpoint) {
        guard error.code == "MOVED" || error.code == "ASK" else { return nil }
        let words = error.message.split(separator: " ")
        guard words.count == 2, let slot = Int(decimal: words[0]),
            (0..<RedisSlot.count).contains(slot),
            let colon = words[1].lastIndex(of: ":"),
            let port = Int(decimal: words[1][words[1].index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        let host = words[1][..<colon]
        if host == "?" {
            self = .unknown
            return
        }
        guard let host = host.isEmpty ? node.host : String(host) else { return nil }
        let endpoint = RedisEndpoint(host: host, port: port, isEncrypted: node.isEncrypted)
        self = error.code == "ASK" ? .ask(endpoint) : .moved(slot: slot, to: endpoint)
    }
}
