import Logging
import PollerIdentity
import PollerQueue
import PollerRedis
import RedisClient
import ServiceLifecycle

/// Keeps this process's layout in the store, or logs that the process must be restarted.
///
/// It checks as often as ``SecretsSync`` reads the roots. An emptied Redis must have both back before another process
/// starts on it.
struct LayoutSync: Service {
    let layout: StoreLayout
    let client: RedisClient
    let owner: OwnerID
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var last = StoreLayout.Status.fits
            var isToBeOpened = false
            // Cancelled: the drain has begun, and this process writes no layout any more.
            while true {
                try await Task.sleep(for: SecretsSync.pause)
                last = await check(after: last, &isToBeOpened)
            }
        }
    }

    /// Checks the layout in the store and logs a change since the last check once.
    ///
    /// `isToBeOpened` is true after this process has written the layout back, until partitions that were added later
    /// are open.
    private func check(
        after last: StoreLayout.Status,
        _ isToBeOpened: inout Bool
    ) async -> StoreLayout.Status {
        do {
            let status = try await layout.status(on: client)
            switch status {
            case .missing:
                if try await layout.restore(on: client) {
                    isToBeOpened = true
                    logger.warning(
                        "the store was emptied while processes were running; restoring its layout",
                        metadata: ["partitions": "\(layout.partitions)"]
                    )
                }
            case .other(let stored) where status != last:
                logger.error(
                    "the store has a different layout; restart this process",
                    metadata: ["stored": "\(stored.text)", "known": "\(layout.text)"]
                )
            case .fits, .other: break
            }
            if isToBeOpened {
                _ = try await RedisRepartition(
                    client: client,
                    layout: layout,
                    owner: owner,
                    logger: logger
                ).reopen()
                isToBeOpened = false
            }
            return status
        } catch {
            // An unavailable store is reported by the connection.
            logger.debug("layout not read", metadata: ["error": "\(error)"])
            return last
        }
    }
}
