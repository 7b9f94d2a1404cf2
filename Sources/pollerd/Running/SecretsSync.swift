import Logging
import Poller
import PollerRedis
import ServiceLifecycle

/// Keeps what this process knows of the cluster's roots as the store has it, and its master key noted there.
///
/// Every five seconds, six times before a new root makes anything (``Roots/notice``).
struct SecretsSync: Service {
    static let pause = Duration.seconds(5)

    let secrets: RedisSecrets
    let ring: RootRing
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            // Cancelled: the drain has begun, and nothing new is made from here.
            while true {
                try await Task.sleep(for: Self.pause)
                await look()
            }
        }
    }

    private func look() async {
        do {
            ring.replace(with: try await secrets.look())
        } catch let error as SealError {
            logger.error(
                "roots not read: no secret is kept here until they are",
                metadata: ["error": "\(error)"]
            )
        } catch {
            // A store that is away is told of by everything else.
            logger.debug("roots not read", metadata: ["error": "\(error)"])
        }
    }
}
