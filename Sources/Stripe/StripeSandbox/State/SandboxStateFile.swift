import Foundation
import Logging
import ServiceLifecycle

/// Where a sandbox keeps what it knows, so that a restart goes on with it.
///
/// *Shape*: one JSON object, `{"format": 2, "state": {…}}`, with base64 for bodies; some 3 kB for each source with its
/// events. It is for this program alone. Webhook secrets are in it: only its user may read it.
package struct SandboxStateFile: Sendable {
    /// Grows when an older program could not read what is written.
    private static let format = 2
    /// What the file is called in a folder.
    private static let name = "stripe-sandbox.json"

    private let url: URL

    /// Why there is no going on: a sentence that names the file and says what to do.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// What stands in front of the rest.
    private struct Head: Decodable {
        let format: Int
    }

    /// The whole file.
    private struct Content: Codable {
        let format: Int
        let state: SandboxState
    }

    /// A file, or the one in a folder; errors: a folder that is not there.
    package init(path: String) throws(Unusable) {
        let url = URL(fileURLWithPath: path)
        self.url = Self.isFolder(url) ? url.appendingPathComponent(Self.name) : url
        let folder = self.url.deletingLastPathComponent()
        guard Self.isFolder(folder) else {
            throw Unusable(
                description: "\(folder.path) is no folder: make it, and let this user write there"
            )
        }
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
            && isFolder.boolValue
    }

    /// What was kept; nil when nothing was.
    ///
    /// Errors: a file that cannot be read is left as it is.
    func read() throws(Unusable) -> SandboxState? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        do {
            let data = try Data(contentsOf: url)
            let decoder = JSONDecoder()
            let format = try decoder.decode(Head.self, from: data).format
            guard format == Self.format else {
                throw unusable(
                    "was written by another release (format \(format), not \(Self.format))"
                )
            }
            return try decoder.decode(Content.self, from: data).state
        } catch let error as Unusable {
            throw error
        } catch is DecodingError {
            throw unusable("is not what stripe-sandbox writes, or damaged")
        } catch {
            throw unusable("cannot be read (\(error.localizedDescription))")
        }
    }

    private func unusable(_ reason: String) -> Unusable {
        Unusable(
            description: "the state in \(url.path) \(reason). It is left as it is: move it away to "
                + "begin with nothing, or give --state another place"
        )
    }

    /// Puts a state in the place of the one before, whole or not at all.
    func write(_ state: SandboxState) throws {
        let data = try JSONEncoder().encode(Content(format: Self.format, state: state))
        // Beside it first, so that others never read a half; a new file is nobody else's.
        let next = url.appendingPathExtension("new")
        let files = FileManager.default
        guard
            files.createFile(
                atPath: next.path,
                contents: nil,
                attributes: [.posixPermissions: 0o600]
            )
        else { throw Unusable(description: "\(next.path) cannot be written") }
        let handle = try FileHandle(forWritingTo: next)
        do {
            try handle.write(contentsOf: data)
            try handle.synchronize()
        } catch {
            try handle.close()
            throw error
        }
        try handle.close()
        guard unsafe rename(next.path, url.path) == 0 else {
            throw Unusable(description: "\(url.path) cannot be replaced")
        }
    }
}

/// Writes what a sandbox knows after it has changed.
///
/// *Cost*: the first change after a quiet moment is written at once. The next waits for ``pauseMin`` or ten times what
/// writing took, whichever is longer, so that keeping takes a tenth of a core at most, however much there is.
///
/// *A crash* loses what has changed in that pause; a shutdown nothing.
struct StateWriter: Service {
    /// What a kill may lose while there is little to write.
    static let pauseMin = Duration.milliseconds(200)
    private static let pauseFactor = 10

    let store: SandboxStore
    let file: SandboxStateFile
    let changes: AsyncStream<Void>
    let logger: Logger

    func run() async throws {
        var written = 0
        for await _ in changes.cancelOnGracefulShutdown() {
            var isSaved = false
            while !isSaved, !Task.isShuttingDownGracefully, !Task.isCancelled {
                let startMs = store.configuration.nowMs()
                isSaved = write(&written)
                let duration = Duration.milliseconds(store.configuration.nowMs() - startMs)
                await cancelWhenGracefulShutdown {
                    // Cancelled: what is left is written at once.
                    try? await Task.sleep(for: max(Self.pauseMin, duration * Self.pauseFactor))
                }
            }
        }
        write(&written)
    }

    /// Whether all is kept.
    ///
    /// A place that is full or gone is told of each time, and tried again.
    @discardableResult
    private func write(_ written: inout Int) -> Bool {
        let state = store.state
        guard state.changes != written else { return true }
        do {
            try file.write(state)
            written = state.changes
            return true
        } catch {
            logger.error("state not kept", metadata: ["error": "\(error)"])
            return false
        }
    }
}
