# scripts/package fills in what stands between at signs.
class Archivefs < Formula
  desc "Mount a document archive as a file system"
  homepage "https://github.com/archivefs/archivefs"
  url "https://github.com/archivefs/archivefs.git", @TAG@revision: "@REVISION@"
  version "@VERSION@"
  license "Apache-2.0"
  head "https://github.com/archivefs/archivefs.git", branch: "main"

  depends_on "go" => :build

  on_linux do
    depends_on "libfuse"
  end

  def install
    ENV["CGO_ENABLED"] = "0"
    system "go", "build", "-buildvcs=true", *std_go_args(ldflags: "-s -w"), "./cmd/archivefs"
    system "go", "run", "-buildvcs=true", "-tags", "packaging", "./cmd/archivefs", "package-files", "share"
    man1.install "share/archivefs.1"
    man5.install "share/archivefs.toml.5"
    bash_completion.install "share/archivefs.bash" => "archivefs"
    zsh_completion.install "share/archivefs.zsh" => "_archivefs"
    fish_completion.install "share/archivefs.fish"
    pkgshare.install "packaging/config.toml"
  end

  def caveats
    on_macos do
      <<~TEXT
        archivefs needs macFUSE:
          brew install --cask macfuse
        and its extension allowed in System Settings, Privacy & Security. FUSE-T does not do:
        it has a library for programs in C, and no device for others.
      TEXT
    end
  end

  test do
    assert_match "mount a document archive", shell_output("#{bin}/archivefs --help")
    (testpath/"config.toml").write("[profile.office]\nttl = 5\n")
    assert_match "config.toml:2", shell_output("#{bin}/archivefs config check config.toml 2>&1", 1)
  end
end
