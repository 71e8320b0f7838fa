"""The pages of a study: an invitation link leads to instructions, then to pair after pair, each saved at once."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from parasketch.judge.study import Page, Study
from parasketch.serve.limits import ServiceError

Side = Literal["left", "right"]


class Answers(BaseModel):
    """A rater's answers to one pair."""

    model_config = ConfigDict(extra="forbid")
    assignment: int
    fluency: Side
    meaning: Side
    difference: Side
    seconds: float = Field(ge=0, le=1e6)


def judging_routes(path: Path, static: Path) -> APIRouter:
    """All of /judge."""
    study = Study(path)
    router = APIRouter(prefix="/judge", include_in_schema=False)

    async def page_of(token: str) -> Page:
        page = await asyncio.to_thread(study.page, token)
        if page is None:
            raise ServiceError(404, "nobody was invited with this link: please check that it is complete")
        return page

    @router.get("/{token}")
    async def show(token: str) -> Response:
        await page_of(token)
        return FileResponse(static / "judge.html")

    @router.get("/{token}/next")
    async def following(token: str) -> dict[str, Any]:
        return asdict(await page_of(token))

    @router.post("/{token}/answers")
    async def answer(token: str, body: Answers) -> dict[str, Any]:
        """Save, and only then confirm, with the next pair."""
        given = body.model_dump(include={"fluency", "meaning", "difference"})
        if not await asyncio.to_thread(study.judge, token, body.assignment, given, body.seconds):
            raise ServiceError(404, "this pair does not belong to this link")
        return asdict(await page_of(token))

    return router
