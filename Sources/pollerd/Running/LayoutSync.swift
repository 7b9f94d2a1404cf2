import Logging
import Poller
import PollerIdentity
import PollerQueue
import PollerRedis
import RedisClient
import ServiceLifecycle

/// Sees to it that the store keeps the layout by which this process works, or says that it must be started again.
///
/// As often as the roots are looked at (``SecretsSync``): a Redis that has come back empty is to have both before
/// another process starts on it.
struct LayoutSync: Service {
    let layout: StoreLayout
    let client: RedisClient
    let owner: OwnerID
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var last = StoreLayout.Standing.fits
            var isToBeOpened = false
            // Cancelled: the drain has begun, and nothing is placed from here.
            while true {
                try await Task.sleep(for: SecretsSync.pause)
                last = await look(after: last, &isToBeOpened)
            }
        }
    }

    /// How the store stands; what has changed since the look before is told once.
    ///
    /// `isToBeOpened`: whether this process has written the layout back, and partitions that the store was given
    /// later are not open yet.
    private func look(
        after last: StoreLayout.Standing,
        _ isToBeOpened: inout Bool
    ) async -> StoreLayout.Standing {
        do {
            let standing = try await layout.standing(on: client)
            switch standing {
            case .missing:
                if try await layout.restore(on: client) {
                    isToBeOpened = true
                    logger.warning(
                        "the store was emptied under running processes: its layout is written back",
                        metadata: ["partitions": "\(layout.partitions)"]
                    )
                }
            case .other(let stored) where standing != last:
                logger.error(
                    "the store has another layout: start this process again",
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
            return standing
        } catch {
            // A store that is away is told of by everything else.
            logger.debug("layout not read", metadata: ["error": "\(error)"])
            return last
        }
    }
}
