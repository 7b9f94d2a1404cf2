// What `pollerctl listen` leaves on the disk, so that a kill at any instant loses no event. The cursor of
// the server lies between pages, so the ids of what was accepted behind it stand beside it: after a kill only
// the one event may come again whose answer was on its way.

import Crypto
import Foundation
import PollerClient
import StandardWebhooks

/// How far one listener has come.
struct ListenerPosition: Codable {
    let server: String
    let target: String
    let account: String?
    let types: [String]
    /// Behind this everything is still to be told, but for ``accepted``; nil for ``since``.
    var cursor: String?
    /// Where it begins before there is a cursor; nil for the oldest event that is kept.
    var since: Date?
    /// The ids of events behind the cursor that the receiver has accepted.
    var accepted: [String] = []
    /// Events accepted so far.
    var total = 0

    /// Where to read on.
    var start: EventStart { cursor.map(EventStart.cursor) ?? since.map(EventStart.time) ?? .oldest }

    /// The name of its file: the same server, target and filter are the same listener.
    fileprivate var name: String {
        let fields = [server, target, account ?? ""] + types.sorted()
        let digest = SHA256.hash(data: Data(fields.joined(separator: "\n").utf8))
        // 64 bits: a developer has a handful of them.
        return "listen-"
            + digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            .joined()
    }
}

/// Why a listener cannot keep its position: a sentence that says what to do.
struct ListenerFileError: Error {
    let message: String
}

/// The folder of a user's listeners, of this user alone: `$XDG_STATE_HOME/poller`, or `$HOME/.local/state/poller`.
///
/// *Source*: XDG Base Directory Specification 0.8; a path that is not absolute is passed over, as it says. `HOME` is
/// the variable's, as in POSIX: in containers and CI it is often not the folder that `/etc/passwd` names.
struct ListenFiles {
    let folder: URL

    /// Makes the folder where it is missing.
    init(_ environment: [String: String]) throws {
        func path(_ variable: String) -> String? {
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let state = path("XDG_STATE_HOME")
        let home = path("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path
        folder = URL(fileURLWithPath: state ?? "\(home)/.local/state", isDirectory: true)
            .appendingPathComponent("poller", isDirectory: true)
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw ListenerFileError(
                message:
                    "\(folder.path) cannot be made: name another folder with XDG_STATE_HOME or HOME"
            )
        }
    }

    /// Where a listener's position is kept.
    func url(of position: ListenerPosition) -> URL {
        folder.appendingPathComponent(position.name + ".json")
    }

    /// What was kept of a listener; nil when it has never been started.
    func stored(_ position: ListenerPosition) throws -> ListenerPosition? {
        let url = url(of: position)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        do {
            return try JSONDecoder().decode(ListenerPosition.self, from: Data(contentsOf: url))
        } catch {
            throw ListenerFileError(
                message: "\(url.path) cannot be understood\n"
                    + "Remove it, and say with --since where to begin."
            )
        }
    }

    /// Keeps a place; a kill in the middle leaves the one before.
    func store(_ position: ListenerPosition) throws {
        let url = url(of: position)
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(position).write(to: url, options: .atomic)
        } catch {
            throw ListenerFileError(
                message: "\(url.path) cannot be written: \(error.localizedDescription)\n"
                    + "Nothing is lost: events go on from the place it had."
            )
        }
    }

    /// Makes sure that nobody else forwards the same; the system lets go when the process ends.
    func lock(_ position: ListenerPosition) throws -> FileHandle {
        let path = folder.appendingPathComponent(position.name + ".lock").path
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw ListenerFileError(message: "\(path) cannot be opened")
        }
        guard flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw ListenerFileError(
                message:
                    "another pollerctl listen forwards the same to \(position.target)\nEnd it first."
            )
        }
        return file
    }

    /// The secret of all listeners of this user, made once; no one else may read it.
    func secret() throws -> (key: SigningKey, path: String) {
        let url = folder.appendingPathComponent("listen-secret")
        if !FileManager.default.fileExists(atPath: url.path) {
            var chance = SystemRandomNumberGenerator()
            let text = SigningKey(using: &chance).reveal + "\n"
            // Whoever was faster has made one: that is read below.
            _ = FileManager.default.createFile(
                atPath: url.path,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        }
        guard let text = try? String(contentsOf: url, encoding: .utf8),
            let key = SigningKey(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else {
            throw ListenerFileError(
                message: "\(url.path) has no secret: it \(SigningKey.rule)\n"
                    + "Remove it, and a new one is made."
            )
        }
        return (key, url.path)
    }
}
