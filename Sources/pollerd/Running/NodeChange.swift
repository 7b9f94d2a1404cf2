import PollerAPI
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerOperations
import PollerQueue
import PollerRedis
import PollerWatches

/// The parts of a node's roles that stay when its configuration changes.
struct PersistentParts: Sendable {
    /// The polling parts, or `nil` if this process does not poll.
    let polling: Node.Polling?
    /// The limit of open watches, or `nil` if this process does not enqueue.
    let openWatches: OpenWatchLimit?
}

extension Node {
    /// Builds the parts that follow these settings at run time.
    ///
    /// Options that need a restart do not affect them.
    func configured(by settings: Settings, _ parts: PersistentParts) -> ConfiguredParts {
        let accounts = Self.accounts(settings)
        let endpoints = roles.contains(.notifier) ? settings.sections.endpoints : nil
        return ConfiguredParts(
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

/// Applies another configuration to a running node, as a whole or not at all.
///
/// ``prepare(_:)`` finds every mistake and changes nothing. The closure it returns cannot fail. Limits of upstream
/// lanes and registered endpoints are in the store. ``align(since:)`` updates them as soon as the store is available.
struct NodeChange: Sendable {
    let node: Node
    let parts: PersistentParts
    let keys: KeyRing
    /// The certificates by listener name.
    let certificates: [String: ListenerTLS]
    /// Sets the limit of lanes without a specific limit.
    let limitLanes: @Sendable (LaneLimit) -> Void

    /// Reads the files of the settings and returns a closure that applies them.
    ///
    /// - Throws: ``ConfigurationError`` for unusable files of keys or certificates.
    func prepare(_ settings: Settings) throws(ConfigurationError) -> @Sendable () -> Void {
        do throws(InvalidInput) {
            // If no key file is named any more, its keys stay until a start has checked whether the API may be open.
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

    /// Aligns the store with the settings in effect, where they differ from any of the `former` ones; one of them is
    /// `nil` after a start at which the store has refused endpoints.
    ///
    /// A refused endpoint does not keep limits from the store.
    func align(since former: [Settings?]) async throws {
        let configured = node.live.now
        if parts.polling != nil {
            for case let settings? in former {
                try await node.limitUpstreams(configured.settings, since: settings)
            }
        }
        let endpoints = configured.settings.sections.endpoints
        if former.contains(where: { $0.map { $0.sections.endpoints != endpoints } ?? true }) {
            try await node.registerEndpoints(configured)
        }
    }
}
