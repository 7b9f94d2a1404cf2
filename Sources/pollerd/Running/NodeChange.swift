import Poller
import PollerAPI
import PollerIdentity
import PollerNet
import PollerQueue
import PollerRedis

/// What stays of a node's roles whatever its configuration says, and what a new one is put together with.
struct FollowingParts: Sendable {
    /// Nil where nothing is polled.
    let polling: Node.Polling?
    /// Nil where nothing is enqueued.
    let openWatches: OpenWatchLimit?
}

extension Node {
    /// What this node does by these settings; options that only a start can follow are left out of it.
    func configured(by settings: Settings, _ parts: FollowingParts) -> Configured {
        let accounts = Self.accounts(settings)
        let endpoints = roles.contains(.notifier) ? settings.sections.endpoints : nil
        return Configured(
            settings,
            accounts,
            polls: parts.polling.map { polls($0, settings, accounts) },
            webhooks: parts.openWatches.flatMap { webhooks($0, settings, accounts) },
            endpoints: endpoints.map { wanted in
                FileEndpoints(
                    wanted,
                    store: cluster.endpoints,
                    audit: (audit, { ConfiguredChanges.endpoint(from: $0, to: $1) })
                )
            }
        )
    }
}

/// How another configuration becomes that of a running node: all of it, or nothing.
///
/// Whatever can be wrong is found by ``prepare(_:)``, which changes nothing; what it returns cannot fail. What stands in
/// the store, the limits of upstreams' lanes and the registered endpoints, follows by ``align(since:)`` as soon as the store
/// can be reached.
struct NodeChange: Sendable {
    let node: Node
    let parts: FollowingParts
    let keys: KeyRing
    /// By their listeners' names.
    let certificates: [String: ListenerTLS]
    /// Sets the limit of lanes that have none of their own.
    let limitLanes: @Sendable (LaneLimit) -> Void

    /// Reads what the settings name, and returns what makes them hold.
    ///
    /// - Throws: ``ConfigurationError`` for files of keys or certificates that cannot be used.
    func prepare(_ settings: Settings) throws(ConfigurationError) -> @Sendable () -> Void {
        do throws(InvalidInput) {
            // A file that is named no more stays until a start has looked whether the API may be open.
            let file = try settings.apiKeysFile.map { path throws(InvalidInput) in
                try KeyFile(contentsOfFile: path)
            }
            var shown: [(tls: ListenerTLS, prepared: ListenerTLS.Prepared)] = []
            for (name, tls) in certificates {
                guard let files = settings.tls[name] else { continue }
                shown.append((tls, try tls.prepare(files)))
            }
            let configured = node.configured(by: settings, parts)
            return { [self, shown] in
                node.live.replace(with: configured)
                limitLanes(settings.lane)
                if let file { keys.replace(file: file.callers) }
                for (tls, prepared) in shown { tls.apply(prepared) }
            }
        } catch {
            throw ConfigurationError("\(error.field) \(error.message)", key: error.field)
        }
    }

    /// Brings the store into line with what holds now, where that differs from `former` settings.
    func align(since former: Settings) async throws {
        let configured = node.live.now
        if parts.polling != nil {
            try await node.limitUpstreams(configured.settings, since: former)
        }
        if configured.settings.sections.endpoints != former.sections.endpoints {
            try await node.registerEndpoints(configured)
        }
    }
}
