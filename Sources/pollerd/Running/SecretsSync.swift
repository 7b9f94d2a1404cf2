import Logging
import PollerOperations
import PollerRedis
import ServiceLifecycle

/// Keeps this process's roots equal to those in the store, and its master key recorded there.
///
/// It runs every five seconds, which is six times before a new root is first used (``Roots/notice``).
struct SecretsSync: Service {
    static let pause = Duration.seconds(5)

    let secrets: RedisSecrets
    let ring: RootRing
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            // Cancelled: the drain has begun, and this process creates nothing new.
            while true {
                try await Task.sleep(for: Self.pause)
                await refresh()
            }
        }
    }

    private func refresh() async {
        do {
            ring.replace(with: try await secrets.refresh())
        } catch let error as SealError {
            logger.error(
                "root secrets not read; this process stores no secrets until they are",
                metadata: ["error": "\(error)"]
            )
        } catch {
            // An unavailable store is reported by the connection.
            logger.debug("root secrets not read", metadata: ["error": "\(error)"])
        }
    }
}
